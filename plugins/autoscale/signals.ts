import type { QueueCounts, Queues } from 'zin/plugins/queues'
import { durationBounds, type NodeView, type WorkerCounts, type Workers, type WorkerView } from 'zin/plugins/workers'
import type { Signals } from './recommend/recommend.js'

/** Time over which attempts are counted. */
const windowMs = 300_000
/** Maximum number of workers per read of the counts. */
const mostNames = 1000
const pageSize = 100
/** Maximum number of queues whose age is read in one round: those with the longest backlog. */
const mostAges = 50
const mostReads = 3

export type SignalSources = Readonly<{ workers: Workers; queues: Queues }>

/** Returns every worker of the app. */
export async function allWorkers(workers: Workers): Promise<readonly WorkerView[]> {
  const all: WorkerView[] = []
  for (let page = 1; ; page++) {
    const found = await workers.list({ page, limit: pageSize })
    all.push(...found.workers)
    if (page >= found.pagination.totalPages) return all
  }
}

/** Returns the number of processes that can run a worker. */
export function nodesFor({ features, placement }: Pick<WorkerView, 'features' | 'placement'>, nodes: readonly NodeView[]): number {
  const { nodes: wanted, regions } = placement
  const able = nodes.filter(
    (node) => node.alive && node.consumes && !node.draining && (regions === undefined || regions.includes(node.region)),
  ).length
  if (features.clustering === false) return Math.min(1, able)
  return wanted === 'all' ? able : Math.min(wanted, able)
}

/** Returns the current concurrency per process. */
export function actingConcurrency({ concurrency, scaled }: Pick<WorkerView, 'concurrency' | 'scaled'>): number {
  return scaled?.concurrency ?? concurrency
}

/**
 * Reads the signals of workers, in three round trips per 1,000 workers, and one to three more for each of at most 50 queues with waiting
 * jobs. Does not read whether a canary runs.
 */
export async function readSignals(
  { queues, workers }: SignalSources,
  views: readonly WorkerView[],
  nodes: readonly NodeView[],
  at: number,
): Promise<ReadonlyMap<string, Signals>> {
  const since = Math.floor((at - windowMs) / 60_000) * 60_000
  const parts = Array.from({ length: Math.ceil(views.length / mostNames) }, (_, index) =>
    views.slice(index * mostNames, (index + 1) * mostNames),
  )
  const [counted, counts] = await Promise.all([
    Promise.all(
      parts.map((part) =>
        workers.counts(
          part.map(({ name }) => name),
          { since },
        ),
      ),
    ),
    queues.countsOf([...new Set(views.map(({ queueName }) => queueName))]),
  ])
  const attempts = new Map(counted.flat().map((one) => [one.worker, one]))
  const longest = [...counts]
    .filter(([, { waiting }]) => waiting > 0)
    .sort(([, a], [, b]) => b.waiting - a.waiting)
    .slice(0, mostAges)
  const [running, ages] = await Promise.all([
    runningIn(queues, counts, at, at - since),
    Promise.all(longest.map(async ([queue]) => [queue, await oldestOf(queues, queue, at)] as const)).then((found) => new Map(found)),
  ])
  return new Map(
    views.map((view) => {
      const { concurrency, name, queueName } = view
      const { completed = 0, failed = 0, totalMs = 0 } = attempts.get(name) ?? {}
      const ended = completed + failed
      const able = nodesFor(view, nodes)
      const oldest = ages.get(queueName)
      return [
        name,
        {
          at,
          attempts: ended,
          windowSeconds: (at - since) / 1000,
          runSeconds: ended === 0 ? 0 : totalMs / ended / 1000,
          longestSeconds: longestOf(attempts.get(name)),
          backlog: counts.get(queueName)?.waiting ?? 0,
          ...(running.get(queueName) ?? notRead),
          queueAgeSeconds: ageOf(counts.get(queueName)?.waiting ?? 0, oldest, at),
          concurrency,
          current: (actingConcurrency(view) * able) / concurrency,
          nodes: able,
          canary: false,
        },
      ]
    }),
  )
}

type Running = Pick<Signals, 'active' | 'activeSeconds' | 'oldestSeconds'>

const notRead: Running = { active: null, activeSeconds: 0, oldestSeconds: 0 }

/** Returns the running jobs of queues. An error of the store makes them unknown. */
export async function readRunning(queues: Queues, names: readonly string[], at: number): Promise<ReadonlyMap<string, Running>> {
  try {
    return await runningIn(queues, await queues.countsOf(names), at, windowMs)
  } catch {
    return new Map(names.map((name) => [name, notRead]))
  }
}

async function runningIn(
  queues: Queues,
  counts: ReadonlyMap<string, QueueCounts>,
  at: number,
  spanMs: number,
): Promise<ReadonlyMap<string, Running>> {
  const busy = [...counts].flatMap(([queue, { active }]) => (active > 0 ? [queue] : []))
  const since = busy.length === 0 ? new Map<string, readonly number[]>() : await queues.runningSince(busy).catch(() => undefined)
  return new Map(
    [...counts].map(([queue, { active }]) => {
      if (active === 0) return [queue, { active, activeSeconds: 0, oldestSeconds: 0 }]
      if (since === undefined) return [queue, notRead]
      const runs = (since.get(queue) ?? []).map((start) => Math.max(0, at - start))
      const worked = runs.reduce((sum, ms) => sum + Math.min(ms, spanMs), 0) / 1000
      return [queue, { active, activeSeconds: (worked * active) / Math.max(1, runs.length), oldestSeconds: Math.max(0, ...runs) / 1000 }]
    }),
  )
}

/** Returns the upper bound of the longest run time in seconds; null if there is none. */
function longestOf(counts: WorkerCounts | undefined): number | null {
  const buckets = Object.keys(counts?.durations ?? {}).map(Number)
  if (buckets.length === 0) return null
  return (durationBounds[Math.max(...buckets)] ?? Number.MAX_SAFE_INTEGER) / 1000
}

/** Retries if the oldest job was taken during the read: it is missing then, or its time is that of the take. */
async function oldestOf(queues: Queues, queue: string, at: number): Promise<number | undefined> {
  for (let attempt = 0; attempt < mostReads; attempt++) {
    const oldest = await queues.oldestWaiting(queue)
    if (oldest !== undefined && oldest <= at) return oldest
  }
  return undefined
}

/** Returns null if jobs wait but their age could not be read. */
function ageOf(waiting: number, oldest: number | undefined, at: number): number | null {
  if (waiting === 0) return 0
  return oldest === undefined ? null : (at - oldest) / 1000
}
