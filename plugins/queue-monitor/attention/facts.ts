import { type AttentionFact, type AttentionReport, countText, messageOf, WaitBudget } from 'zin'
import { type FailingVersion, failingVersions, fewAttempts, type VersionShare } from 'zin/plugins/statistics'
import type { WorkerCounts, Workers } from 'zin/plugins/workers'
import { pluginScope, type Scope } from '../access/scope.js'
import type { Alerts } from '../alerts/alerts.js'
import type { JobDetails, QueueMonitor, QueueStats } from '../contract.js'
import type { OutcomeLog } from '../deliveries/outcomes.js'
import type { Endpoints } from '../webhooks/endpoints.js'
import { alertFact, queueFacts, retriedFact, waitingFacts } from './queue-facts.js'
import { failedAttempts, RetriedJobs } from './retried-jobs.js'
import { webhookFacts } from './webhook-facts.js'

/** The kinds of facts, and when each is listed. */
export const monitorKinds = {
  'queue-paused': 'a queue has been paused for 20 s',
  'queue-broken': 'a queue cannot be read although its store responds',
  'queue-alert': 'an alert is raised, and no job or version below explains it',
  'waiting-too-long': 'the oldest job waits for two minutes and for longer than any did in the last day',
  'job-retried':
    'a job has failed five times and is still being retried. The first 20 active, waiting and delayed jobs are checked, in the ten queues that fail most and in ten others, in rotation',
  'version-failing':
    'more than 5 % of the attempts of a version in the last hour failed, with 95 % confidence, without those of the jobs above',
  'webhook-failing': 'deliveries to an endpoint failed in the last day, and none was accepted since',
  'webhook-disabled': 'an endpoint was disabled because its receiver wants no more, or because the key that owns it was revoked',
} as const

type Unchecked = NonNullable<AttentionReport['notChecked']>[number]

export interface MonitorFactsParts {
  readonly monitor: Pick<QueueMonitor, 'history' | 'job' | 'jobs' | 'stats'>
  readonly alerts: Pick<Alerts, 'active'>
  readonly endpoints: Pick<Endpoints, 'list'>
  readonly outcomes: Pick<OutcomeLog, 'read'>
  readonly workers: () => Workers | undefined
  readonly now: () => number
}

const scope = pluginScope('queue-monitor')
/** Below the deadline of a listener of `collectAttention`, in ms. */
const waitMs = 3_000
/** Queues whose history is read per check. */
const mostHistories = 50
/** Queues with fewer failed attempts in the last hour are not checked for failing versions; limit on the workers that are compared. */
const fewFailures = 3
const mostCompared = 200
/** Pages of 100 workers. */
const mostPages = 20
/** Queues whose oldest job waits for less are not compared with their history, in ms. */
const patienceMs = 120_000
const hourMs = 3_600_000

/** What this plugin knows: queues, their alerts and jobs, versions that fail, and webhooks. */
export class MonitorFacts {
  readonly #parts: MonitorFactsParts
  readonly #retried: RetriedJobs
  /** The workers whose versions failed when last checked, with their queues. */
  #failingWorkers: ReadonlyMap<string, string> = new Map()

  constructor(parts: MonitorFactsParts) {
    this.#parts = parts
    // What is stored and shown to many callers holds no text of a job.
    const reader: Scope = { ...scope, may: (permission) => permission !== 'payload:read' }
    this.#retried = new RetriedJobs(() => ({
      jobs: (status, query) => parts.monitor.jobs(status, query, reader),
      job: (id, options) => parts.monitor.job(id, options, reader),
    }))
  }

  async report(): Promise<AttentionReport> {
    const facts: AttentionFact[] = []
    const notChecked: Unchecked[] = []
    const budget = new WaitBudget(waitMs, 'the stores did not respond in time')
    const look = async (kinds: readonly string[], find: () => Promise<readonly AttentionFact[]>): Promise<void> => {
      try {
        facts.push(...(await budget.run(find)))
      } catch (error) {
        notChecked.push(...kinds.map((kind) => ({ kind, reason: `It could not be read: ${messageOf(error)}` })))
      }
    }
    let stats: QueueStats | undefined
    await look(['queue-paused', 'queue-broken'], async () => {
      stats = await this.#parts.monitor.stats()
      return Object.entries(stats.queues).flatMap(([queue, entry]) => queueFacts(queue, entry))
    })
    await look(['queue-alert'], async () => (await this.#parts.alerts.active(scope)).map(alertFact))
    await look(['waiting-too-long'], async () => this.#waiting(known(stats), notChecked))
    await look(['job-retried', 'version-failing'], async () => this.#failing(known(stats), notChecked))
    await look(['webhook-failing', 'webhook-disabled'], () => this.#webhooks())
    return { facts: unexplained(facts), notChecked }
  }

  async #waiting({ queues, sampledAt }: QueueStats, notChecked: Unchecked[]): Promise<readonly AttentionFact[]> {
    const { monitor } = this.#parts
    const now = Date.parse(sampledAt)
    const all = Object.entries(queues)
      .filter(([, { oldestWaitingMs, paused }]) => !paused && (oldestWaitingMs ?? 0) >= patienceMs)
      .sort(([, a], [, b]) => (b.oldestWaitingMs ?? 0) - (a.oldestWaitingMs ?? 0))
    const late = all.slice(0, mostHistories)
    if (all.length > late.length) {
      const reason = `${late.length} of the ${all.length} queues whose oldest job waits for two minutes or more were compared with their last day`
      notChecked.push({ kind: 'waiting-too-long-in-other-queues', reason })
    }
    const found = await Promise.all(
      late.map(async ([queue, entry]) => {
        const [minutes, hours] = await Promise.all([monitor.history(queue, 'minute'), monitor.history(queue, 'hour')])
        return waitingFacts(queue, entry, { minutes, hours }, now)
      }),
    )
    const unknown = late.flatMap(([queue], i) => (found[i] === undefined ? [queue] : []))
    if (unknown.length > 0) {
      const reason = `The oldest job of ${countText(unknown.length, 'queue')} (${unknown.slice(0, 5).join(', ')}) waits for two minutes or more, and less than half an hour of history does not tell whether that is long`
      notChecked.push({ kind: 'waiting-too-long-in-new-queues', reason })
    }
    return found.flatMap((facts) => facts ?? [])
  }

  /** Jobs that fail repeatedly, and versions that fail too often without them. Reads nothing while nothing fails. */
  async #failing(stats: QueueStats, notChecked: Unchecked[]): Promise<readonly AttentionFact[]> {
    const { jobs, of, queues } = await this.#retried.find(stats)
    if (queues < of) {
      notChecked.push({
        kind: 'job-retried-in-other-queues',
        reason: `${queues} of ${of} failing queues have been searched for such jobs so far`,
      })
    }
    const workers = this.#parts.workers()
    const versions = workers?.enabled === true ? await failingOf(workers, stats, jobs, this.#failingWorkers) : []
    this.#failingWorkers = new Map(versions.map(({ queue, worker }) => [worker, queue]))
    return [...jobs.map((job) => retriedFact(job, stats.queues[job.queue])), ...versions.map(failingFact)]
  }

  async #webhooks(): Promise<readonly AttentionFact[]> {
    const { endpoints, now, outcomes } = this.#parts
    const all = await endpoints.list(scope)
    if (all.length === 0) return []
    const known = await outcomes.read()
    return all.flatMap((endpoint) => webhookFacts(endpoint, known[endpoint.id], now()))
  }
}

function known(stats: QueueStats | undefined): QueueStats {
  if (stats === undefined) throw new Error('the queues could not be sampled')
  return stats
}

/** A job or a version that explains why attempts of a queue fail replaces the failure-rate alert of the queue. */
function unexplained(facts: readonly AttentionFact[]): readonly AttentionFact[] {
  const explained = new Set(facts.flatMap(({ kind, queue }) => (kind === 'job-retried' || kind === 'version-failing' ? [queue] : [])))
  return facts.filter(({ key, kind, queue }) => kind !== 'queue-alert' || key !== 'failure-rate' || !explained.has(queue))
}

interface FailingOfQueue extends FailingVersion {
  readonly queue: string
  readonly hours: 1 | 2
}

/**
 * Versions that fail too often, not counting failures of jobs that are listed themselves.
 *
 * @param known the workers that had such a version when last checked, with their queues. They are checked whatever the sample of the queues
 * covers. If the last hour has too few attempts to judge, as between two runs of an hourly schedule, the hour before counts as well, so that
 * nobody is told of each run.
 */
async function failingOf(
  workers: Workers,
  stats: QueueStats,
  retried: readonly JobDetails[],
  known: ReadonlyMap<string, string>,
): Promise<readonly FailingOfQueue[]> {
  const failures = (queue: string): number => {
    const entry = stats.queues[queue]
    return entry === undefined ? 0 : failedAttempts(entry)
  }
  const knownQueues = new Set(known.values())
  const suspects = new Set(Object.keys(stats.queues).filter((queue) => failures(queue) >= fewFailures || knownQueues.has(queue)))
  if (suspects.size === 0) return []
  const queueOf = new Map<string, string>()
  for (let page = 1; page <= mostPages; page++) {
    const { pagination, workers: found } = await workers.list({ page, limit: 100 })
    for (const { name, queueName, state } of found) {
      if (suspects.has(queueName) && state !== 'FAILED' && queueOf.size < mostCompared) queueOf.set(name, queueName)
    }
    if (page >= pagination.totalPages) break
  }
  if (queueOf.size === 0) return []
  const explained = (worker: string): number =>
    retried.filter(({ queue }) => queue === queueOf.get(worker)).reduce((sum, { attempts }) => sum + attempts, 0)
  const judge = (counts: readonly WorkerCounts[], hours: 1 | 2): readonly FailingOfQueue[] =>
    failingVersions(counts, explained).map((one) => ({ ...one, queue: queueOf.get(one.worker) ?? '', hours }))
  const counts = await workers.counts([...queueOf.keys()], { byVersion: true })
  const found = judge(counts, 1)
  const attempts = (worker: string): number =>
    counts.filter((one) => one.worker === worker).reduce((sum, { completed, failed }) => sum + completed + failed, 0)
  const undecided = [...known.keys()].filter(
    (name) => queueOf.has(name) && attempts(name) < fewAttempts && found.every(({ worker }) => worker !== name),
  )
  if (undecided.length === 0) return found
  const since = Date.parse(stats.sampledAt) - 2 * hourMs
  return [...found, ...judge(await workers.counts(undecided, { byVersion: true, since }), 2)]
}

function failingFact({ beside, hours, queue, worker, ...own }: FailingOfQueue): AttentionFact {
  const other = beside === undefined ? '' : `; version ${beside.version} fails ${shareOf(beside)}`
  return {
    kind: 'version-failing',
    subject: `worker:${worker}`,
    key: own.version,
    queue,
    count: own.failed,
    cause: `version ${own.version} fails ${shareOf(own)} of its attempts, ${own.failed.toLocaleString('en-US')} of ${own.attempts.toLocaleString('en-US')} in the last ${hours === 1 ? 'hour' : 'two hours'}${other}`,
    act: { label: 'Open the worker', href: `/console/workers/${encodeURIComponent(worker)}` },
  }
}

function shareOf({ attempts, failed }: VersionShare): string {
  const percent = (failed / attempts) * 100
  return `${percent === 0 || percent >= 99.95 ? Math.round(percent) : percent.toFixed(1)} %`
}
