import { buckets as bucketCount } from './routing.js'
import type { Arm, Baseline, Counts, Evidence, Metric } from './types.js'

/** Number of jobs, and of bad ones among them. */
export interface Tally {
  readonly jobs: number
  readonly bad: number
}

/** The counts of one arm, in total and by bucket. */
export interface ArmTable {
  readonly sums: Counts
  readonly buckets: Readonly<Record<number, Counts | undefined>>
}

/** The evidence of one step and stratum. */
export interface Row {
  readonly step: number
  readonly stable: ArmTable
  readonly canary: ArmTable
}

/** Positions of the jobs and bad jobs of a metric in {@link Counts}. */
export const columns: Readonly<Record<Metric, { readonly jobs: 0 | 3; readonly bad: 1 | 2 | 4 }>> = {
  fail: { jobs: 0, bad: 1 },
  slow: { jobs: 3, bad: 2 },
  lost: { jobs: 0, bad: 4 },
}

const none: ArmTable = { sums: [0, 0, 0, 0, 0], buckets: {} }

export function rowsOf(evidence: Evidence): readonly Row[] {
  const rows = new Map<string, { step: number } & Record<Arm, ArmTable>>()
  for (const [key, buckets] of Object.entries(evidence.cells)) {
    const { step, arm, stratum } = parseKey(key)
    const name = `${step}/${stratum}`
    const row = rows.get(name) ?? { step, stable: none, canary: none }
    row[arm] = { sums: sumOf(buckets), buckets }
    rows.set(name, row)
  }
  return [...rows.values()]
}

function parseKey(key: string): { step: number; arm: Arm; stratum: string } {
  const [step, arm] = key.split('/', 2) as [string, Arm]
  return { step: Number(step), arm, stratum: key.slice(step.length + arm.length + 2) }
}

function sumOf(buckets: ArmTable['buckets']): Counts {
  const sums: Counts = [0, 0, 0, 0, 0]
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    const counts = buckets[bucket]
    if (counts === undefined) continue
    for (let i = 0; i < 5; i++) sums[i] = (sums[i] as number) + (counts[i] as number)
  }
  return sums
}

export function tallyOf({ sums }: ArmTable, metric: Metric): Tally {
  const { jobs, bad } = columns[metric]
  return { jobs: sums[jobs], bad: sums[bad] }
}

/** Returns the sum of an arm over all rows. */
export function total(rows: readonly Row[], arm: Arm, metric: Metric): Tally {
  let jobs = 0
  let bad = 0
  for (const row of rows) {
    jobs += row[arm].sums[columns[metric].jobs]
    bad += row[arm].sums[columns[metric].bad]
  }
  return { jobs, bad }
}

/** Returns the stable jobs before the canary for a metric; their durations are not used. */
export function baselineTally(baseline: Baseline | undefined, metric: Metric): Tally {
  if (baseline === undefined || metric === 'slow') return { jobs: 0, bad: 0 }
  return { jobs: baseline.jobs, bad: metric === 'fail' ? baseline.failed : baseline.lost }
}

export function rateOf({ jobs, bad }: Tally): number {
  return jobs === 0 ? 0 : bad / jobs
}
