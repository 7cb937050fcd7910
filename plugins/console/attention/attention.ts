import { WaitBudget } from 'zin'
import type { Breaker } from 'zin/plugins/breaker'
import type { Canaries } from 'zin/plugins/canary'
import type { HealthClock } from 'zin/plugins/health'
import type { JobDetails, QueueMonitor, QueueStats } from 'zin/plugins/queue-monitor'
import type { Workers, WorkerView } from 'zin/plugins/workers'
import { failingVersions } from '../shared/failing-versions.js'
import { type AttentionItem, failingVersion, lostNode, openCircuits, retriedJob, troubleOf, waitingCanary, wrongClock } from './items.js'
import { failedAttempts, RetriedJobs } from './retried-jobs.js'

export type { AttentionItem } from './items.js'

export interface Attention {
  readonly items: readonly AttentionItem[]
  /** Sources that could not be read. */
  readonly unknown: readonly string[]
  /** Notes on incomplete coverage, in sentences. */
  readonly notes: readonly string[]
  /** ISO 8601. */
  readonly at: string
}

export interface AttentionParts {
  readonly monitor: () => QueueMonitor
  readonly workers: () => Workers | undefined
  readonly canaries: () => Canaries | undefined
  readonly breaker: () => Breaker | undefined
  readonly clock: () => HealthClock | undefined
  readonly now: () => number
  /** Time limit of a scan, in ms; sources not read by then are reported as unknown. Default: 4500. */
  readonly waitMs?: number
}

/** All callers of a process share one scan for this long, in ms. */
const sharedMs = 2_000
const pageSize = 100
const mostWorkers = 2_000
/** Limit on workers whose canary or breaker is read, and how many are read concurrently. */
const mostAsked = 200
const atOnce = 20
/** Limit on workers whose versions are compared, those with the most failures first. */
const mostCompared = 200
/** Queues with fewer failed attempts in the last hour are not checked for failing versions. */
const fewFailures = 3

/** Finds what needs attention now, across all nodes. */
export class AttentionService {
  readonly #parts: AttentionParts
  readonly #retried: RetriedJobs
  #latest: { readonly at: number; readonly found: Promise<Attention> } | undefined

  constructor(parts: AttentionParts) {
    this.#parts = parts
    this.#retried = new RetriedJobs(parts.monitor)
  }

  look(): Promise<Attention> {
    const at = this.#parts.now()
    if (this.#latest === undefined || at - this.#latest.at > sharedMs) this.#latest = { at, found: this.#look(at) }
    return this.#latest.found
  }

  async #look(at: number): Promise<Attention> {
    const unknown: string[] = []
    const items: AttentionItem[] = []
    const notes: string[] = []
    const waits = new WaitBudget(this.#parts.waitMs ?? 4_500, 'the stores did not respond in time')
    const look = async (what: string, find: () => Promise<readonly AttentionItem[]>): Promise<void> => {
      try {
        items.push(...(await waits.run(find)))
      } catch {
        unknown.push(what)
      }
    }
    items.push(...wrongClock(this.#parts.clock()?.problem))
    const service = this.#parts.workers()
    let workers: readonly WorkerView[] = []
    if (service?.enabled === true) {
      await look('workers', async () => {
        workers = await allWorkers(service)
        return workers.flatMap(troubleOf)
      })
      await look('nodes', async () => (await service.nodes()).filter(({ alive }) => !alive).map(lostNode))
    }
    const breaker = this.#parts.breaker()
    if (breaker !== undefined) {
      const guarded = workers.filter(({ features }) => features.circuitBreaker === true)
      await look('circuit breakers', () => each(guarded, async (worker) => openCircuits(worker, await breaker.status(worker.name))))
    }
    const canaries = this.#parts.canaries()
    if (canaries !== undefined) {
      const tried = workers.filter(({ features }) => features.canary === true)
      await look('canaries', () => each(tried, async ({ name }) => waitingCanary(await canaries.status(name).catch(noCanary))))
    }
    await look('retried jobs', async () => {
      const stats = await this.#parts.monitor().stats()
      const { jobs, of, queues } = await this.#retried.find(stats)
      if (queues < of) notes.push(`Repeatedly failing jobs: ${queues} of ${of} failing queues checked so far.`)
      items.push(...jobs.map((job) => retriedJob(job, stats.queues[job.queue])))
      const explained = new Set(items.filter(({ kind, tone }) => tone === 'bad' && kind !== 'job').map(({ subject }) => subject))
      const others = workers.filter(({ name }) => !explained.has(name))
      return service?.enabled === true ? failing(service, others, stats, jobs) : []
    })
    items.sort((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn') || (a.subject < b.subject ? -1 : 1))
    return { items, unknown, notes, at: new Date(at).toISOString() }
  }
}

/** Versions that fail too often, not counting failures of jobs that are listed themselves. One round trip, none while nothing fails. */
async function failing(
  service: Workers,
  workers: readonly WorkerView[],
  stats: QueueStats,
  retried: readonly JobDetails[],
): Promise<readonly AttentionItem[]> {
  const failuresOf = ({ queueName }: WorkerView): number => {
    const entry = stats.queues[queueName]
    return entry === undefined ? 0 : failedAttempts(entry)
  }
  const suspects = workers
    .filter((worker) => failuresOf(worker) >= fewFailures)
    .sort((a, b) => failuresOf(b) - failuresOf(a))
    .slice(0, mostCompared)
  if (suspects.length === 0) return []
  const queueOf = new Map(suspects.map(({ name, queueName }) => [name, queueName]))
  const counts = await service.counts([...queueOf.keys()], { byVersion: true })
  const explained = (worker: string): number =>
    retried.filter(({ queue }) => queue === queueOf.get(worker)).reduce((sum, { attempts }) => sum + attempts, 0)
  return failingVersions(counts, explained).map((found) => failingVersion(found, queueOf.get(found.worker) ?? ''))
}

async function allWorkers(workers: Workers): Promise<readonly WorkerView[]> {
  const found: WorkerView[] = []
  for (let page = 1; found.length < mostWorkers; page++) {
    const next = await workers.list({ page, limit: pageSize })
    found.push(...next.workers)
    if (page >= next.pagination.totalPages) break
  }
  return found
}

async function each(
  workers: readonly WorkerView[],
  find: (worker: WorkerView) => Promise<readonly AttentionItem[]>,
): Promise<readonly AttentionItem[]> {
  const found: AttentionItem[] = []
  for (let from = 0; from < Math.min(workers.length, mostAsked); from += atOnce)
    found.push(...(await Promise.all(workers.slice(from, from + atOnce).map(find))).flat())
  return found
}

/** Ignores the error of a worker without a canary. */
function noCanary(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code !== 'NO_CANARY') throw error
  return undefined
}
