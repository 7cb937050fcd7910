import type { Clock } from 'zin'
import { percentile, type WorkerCounts, type Workers } from 'zin/plugins/workers'
import { type Baseline, type Evidence, type Judgement, judge, policyOf } from './judge/index.js'
import { timesOf } from './machine.js'
import type { CanaryRecord } from './record.js'
import type { CanaryStore } from './store/contract.js'

const dayMs = 86_400_000
const minuteMs = 60_000
const recentMs = 5 * minuteMs
/** Attempts of the last minute that say more than those of the last five. */
const leastRecent = 10
/** Attempts of the stable version required for a threshold for slow attempts. */
const leastForSlow = 100
/** Shorter attempts are never slow: their duration depends mostly on other work in the process. */
const leastSlowMs = 10

export interface Look {
  readonly judgement: Judgement
  /** First attempts of the version that ended in the current step. */
  readonly stepJobs: number
}

/** Judges the evidence of all processes for a canary. */
export async function lookAt(record: CanaryRecord, store: CanaryStore, now: number): Promise<Look> {
  const evidence = await store.evidence(record.id, record.spec.steps.length)
  return judged(record, evidence, now)
}

export function judged(record: CanaryRecord, evidence: Evidence, now: number): Look {
  const { baseline, excused, recent, spec, step } = record
  const stepJobs = jobsOf(evidence, step)
  const { stepMs } = timesOf(record, now)
  const judgement = judge(evidence, policyOf(spec), {
    shares: spec.steps.map(({ share }) => share),
    ...(baseline === undefined ? {} : { baseline }),
    ...(recent === undefined ? {} : { recent }),
    ...(excused === undefined ? {} : { excused }),
    ...(stepMs > 0 && stepJobs > 0 ? { canaryJobsPerMinute: (stepJobs * 60_000) / stepMs } : {}),
  })
  return { judgement, stepJobs }
}

function jobsOf({ cells }: Evidence, step: number): number {
  return Object.entries(cells)
    .filter(([key]) => key.startsWith(`${step}/canary/`))
    .flatMap(([, cell]) => Object.values(cell))
    .reduce((sum, [jobs]) => sum + jobs, 0)
}

/** Returns the failures of the stable version in the last day, and the duration above which an attempt is slow. */
export async function stableOf(
  workers: Workers,
  name: string,
  version: string,
  clock: Clock,
): Promise<Pick<CanaryRecord, 'baseline' | 'slowMs'>> {
  const stable = await countsOf(workers, name, version, clock.now() - dayMs + 60_000)
  if (stable === undefined) return { slowMs: null }
  const baseline = tallyOf(stable)
  return { baseline, slowMs: baseline.jobs >= leastForSlow ? slowFrom(percentile(stable.durations, 0.95)) : null }
}

/** Returns the failures of the stable version in the last minutes or in the last one, so that an outage that has begun already is known. */
export async function recentOf(workers: Workers, name: string, version: string, clock: Clock): Promise<Pick<CanaryRecord, 'recent'>> {
  const windows = [recentMs, minuteMs].map((ms) => countsOf(workers, name, version, clock.now() - ms))
  const [all, last] = (await Promise.all(windows)).map((counts) => (counts === undefined ? undefined : tallyOf(counts)))
  if (all === undefined) return {}
  const bad = ({ failed, jobs, lost }: Baseline): number => (jobs === 0 ? 0 : (failed + lost) / jobs)
  return { recent: last !== undefined && last.jobs >= leastRecent && bad(last) > bad(all) ? last : all }
}

async function countsOf(workers: Workers, name: string, version: string, since: number): Promise<WorkerCounts | undefined> {
  const counts = await workers.counts([name], { since, byVersion: true })
  return counts.find((one) => one.version === version)
}

function tallyOf({ completed, failed, lost }: WorkerCounts): Baseline {
  return { jobs: completed + failed, failed: Math.max(0, failed - lost), lost }
}

function slowFrom(percentile95: number | undefined): number | null {
  return percentile95 === undefined ? null : Math.max(percentile95, leastSlowMs)
}
