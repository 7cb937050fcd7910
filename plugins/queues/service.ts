import { randomUUID } from 'node:crypto'
import type { FlowJob, FlowProducer, Job, JobsOptions, JobType, KeepJobs, Queue, QueueEvents, Worker } from 'bullmq'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { QueueBackend } from './backend.js'
import { loadBullmq } from './bullmq.js'
import type { QueueCounts, Queues } from './contract.js'
import { queueErrors } from './errors.js'
import { checkJob, isStorableText } from './job-check.js'
import { quietErrors } from './quiet-errors.js'
import { closeWorker, within } from './shutdown.js'

export interface QueuesDeps {
  readonly backend: Queues['backend']
  readonly clock: Clock
  readonly log: Logger
  readonly maxJobBytes: number
}

/** The service as others hold it: known from setup on, usable from start to stop. */
export interface OwnedQueues extends Queues {
  open(backend: QueueBackend): void
  close(): Promise<void>
}

const day = 24 * 3600
const keepCompleted: KeepJobs = { age: day, count: 1000 }
const keepFailed: KeepJobs = { age: 7 * day }
const closeMs = 1500
/** How long a call may take; a little more than a command of Redis has. */
const callMs = 5500
/** How long a job that is made to fail is kept from workers; then one of them fails it. */
const failMs = 30_000
/** Priorities of waiting jobs that are looked at for the oldest one. */
const maxLevels = 50
/** `paused`, which its types lack, is what the embedded store calls the waiting jobs of a paused queue. */
const countedStates = ['waiting', 'paused', 'prioritized', 'active', 'delayed', 'completed', 'failed', 'waiting-children'] as JobType[]

export function createQueues({ backend: kind, clock, log, maxJobBytes }: QueuesDeps): OwnedQueues {
  let backend: QueueBackend | undefined
  let flow: FlowProducer | undefined
  const queues = new Map<string, Queue>()
  const workers = new Set<Worker>()
  const events = new Set<QueueEvents>()
  const onError = quietErrors(log, clock)

  const opened = (): QueueBackend => {
    if (!backend) throw queueErrors.QUEUES_NOT_STARTED()
    return backend
  }

  const checkName = (name: string): void => {
    if (!/^[A-Za-z0-9_.-]{1,100}$/.test(name)) throw queueErrors.QUEUE_INVALID_NAME(name)
  }

  const keepAs = (wanted: JobsOptions['removeOnComplete'], fallback: KeepJobs): boolean | KeepJobs => {
    if (typeof wanted === 'boolean') return wanted
    if (wanted === undefined) return opened().keep(fallback)
    return opened().keep(typeof wanted === 'number' ? { count: wanted } : wanted)
  }

  /** Options with the retention that they ask for in the form of the store. */
  const kept = ({ removeOnComplete, removeOnFail, ...others }: JobsOptions): JobsOptions => ({
    ...others,
    ...(removeOnComplete !== undefined && { removeOnComplete: keepAs(removeOnComplete, keepCompleted) }),
    ...(removeOnFail !== undefined && { removeOnFail: keepAs(removeOnFail, keepFailed) }),
  })

  /** Checks each job of a tree, and gives it the retention that a queue would: the producer of trees knows no defaults of queues. */
  const keptTree = (node: FlowJob): FlowJob => {
    const { name, queueName, data, opts = {}, children } = node
    checkJob(queueName, name, data, opts, maxJobBytes)
    queue(queueName)
    return {
      ...node,
      opts: { removeOnComplete: keepAs(undefined, keepCompleted), removeOnFail: keepAs(undefined, keepFailed), ...kept(opts) },
      ...(children !== undefined && { children: children.map(keptTree) }),
    }
  }

  const flowProducer = (): FlowProducer => {
    flow ??= opened()
      .makeFlow()
      .on('error', (error) => onError({ flow: true }, error))
    return flow
  }

  const queue = (name: string): Queue => {
    const existing = queues.get(name)
    if (existing) return existing
    checkName(name)
    const { makeQueue, remember } = opened()
    const made = makeQueue(name, {
      defaultJobOptions: { removeOnComplete: keepAs(undefined, keepCompleted), removeOnFail: keepAs(undefined, keepFailed) },
    })
    made.on('error', (error) => onError({ queue: name }, error))
    queues.set(name, made)
    remember(name)
    return made
  }

  /** Runs a command on the store; what says that it is away becomes the error of the API. */
  const ask = async <T>(command: () => Promise<T>): Promise<T> => {
    const { ready, isUnavailable, where } = opened()
    try {
      await ready()
      return await withDeadline(command(), callMs, () => queueErrors.QUEUE_CONNECTION_ERROR(where, `no answer within ${callMs} ms`))
    } catch (error) {
      throw isUnavailable(error) ? queueErrors.QUEUE_CONNECTION_ERROR(where, messageOf(error)) : error
    }
  }

  return {
    backend: kind,
    queue,
    worker(name, processor, options = {}) {
      checkName(name)
      const { makeWorker, remember } = opened()
      const { removeOnComplete, removeOnFail, ...others } = options
      const made = makeWorker(name, processor, {
        ...others,
        // For jobs that say nothing of it, which those of other producers are; also in the queues of the app.
        removeOnComplete: opened().keep(removeOnComplete ?? keepCompleted),
        removeOnFail: opened().keep(removeOnFail ?? keepFailed),
      })
      made.on('error', (error) => onError({ queue: name, worker: made.name }, error))
      made.on('closed', () => workers.delete(made))
      workers.add(made)
      remember(name)
      return made
    },
    events(name) {
      checkName(name)
      const made = opened().makeEvents(name)
      made.on('error', (error) => onError({ queue: name, events: true }, error))
      events.add(made)
      return made
    },
    flow: flowProducer,
    async add(name, jobName, data, options = {}) {
      checkJob(name, jobName, data, options, maxJobBytes)
      return ask(() => queue(name).add(jobName, data, kept(options)))
    },
    async addFlow(tree) {
      const checked = keptTree(tree)
      return ask(() => flowProducer().add(checked))
    },
    async schedule(name, id, timing, { name: jobName, data, options = {} }) {
      checkJob(name, jobName, data, { ...options, jobId: id }, maxJobBytes)
      // It types what it answers as always there, and answers nothing when the last date is past.
      return ask(() => queue(name).upsertJobScheduler(id, timing, { name: jobName, data, opts: kept(options) }))
    },
    fail: (name, id, reason) =>
      ask(async () => {
        if (!isStorableText(id)) return false
        const token = randomUUID()
        if (!(await opened().claim(queue(name), id, { token, lockMs: failMs, reason }))) return false
        const job = await queue(name).getJob(id)
        await job?.removeUnprocessedChildren()
        await job?.moveToFailed(new (loadBullmq().UnrecoverableError)(reason), token)
        return true
      }),
    failNext: (name, id, reason) => ask(() => opened().failNext(queue(name), id, reason)),
    nextRun: (pattern, tz, after) => loadBullmq().getNextMillis(after, { pattern, tz }),
    counts: (name) =>
      ask(async (): Promise<QueueCounts> => {
        const counts = await queue(name).getJobCounts(...countedStates)
        const of = (state: string): number => counts[state] ?? 0
        return {
          waiting: of('waiting') + of('paused') + of('prioritized'),
          active: of('active'),
          delayed: of('delayed'),
          completed: of('completed'),
          failed: of('failed'),
          waitingChildren: of('waiting-children'),
        }
      }),
    list: (name, state, { offset, limit }) =>
      limit < 1 ? Promise.resolve([]) : ask(() => opened().page(queue(name), state, offset, limit)),
    oldestWaiting: (name) =>
      ask(async () => {
        let oldest: number | undefined
        let priority = -1
        for (let level = 0; level < maxLevels; level++) {
          const first = await opened().firstAbove(queue(name), priority)
          if (first === undefined) break
          oldest = Math.min(oldest ?? Number.POSITIVE_INFINITY, waitsSince(first))
          priority = first.priority
        }
        return oldest
      }),
    names: () => ask(async () => [...new Set([...queues.keys(), ...(await opened().names())])].sort()),
    async ping(signal) {
      signal?.throwIfAborted()
      const started = clock.monotonic()
      await ask(() => opened().ping(signal))
      return Math.round(clock.monotonic() - started)
    },
    isUnavailable: (error) => isOwnUnavailable(error) || (backend?.isUnavailable(error) ?? false),
    open(made) {
      backend = made
    },
    async close() {
      const closing = backend
      if (!closing) return
      // Consumers first: what they hold must still reach the store.
      const ended = await Promise.all([...workers].map(async (worker) => [worker.name, await closeWorker(worker)] as const))
      const left = ended.filter(([, clean]) => !clean).map(([name]) => name)
      if (left.length > 0) log.warn({ queues: left }, 'jobs that would not end were left behind; they run again')
      await within(Promise.all([...events, ...queues.values(), ...(flow ? [flow] : [])].map((one) => one.close())), closeMs)
      workers.clear()
      events.clear()
      queues.clear()
      flow = undefined
      backend = undefined
      await closing.close()
    },
  }
}

/** A job that was tried before waits for its next attempt. */
function waitsSince({ timestamp, opts, processedOn = 0 }: Job): number {
  return Math.max(timestamp + (opts.delay ?? 0), processedOn)
}

function isOwnUnavailable(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    (error.code === 'QUEUE_CONNECTION_ERROR' || error.code === 'QUEUES_NOT_STARTED')
  )
}
