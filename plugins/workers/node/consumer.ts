import type { Job, Processor, Worker } from 'bullmq'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { abortable } from 'zin/plugins/redis'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import { stopReason } from '../jobs/cancel-reason.js'
import { loggable } from '../jobs/error-text.js'
import { jobView } from '../jobs/job-view.js'
import { givenResult, openData } from '../jobs/payload.js'
import type { WorkerRecord } from '../record/record.js'
import { actingConcurrency } from '../record/scaled.js'
import { endFetch } from './end-fetch.js'
import { putBack } from './put-back.js'
import { RunningJobs } from './running-jobs.js'
import type { StopWaits } from './stop-waits.js'

export interface ConsumerParts {
  readonly queues: Queues
  readonly hooks: HookSlots
  readonly clock: Clock
  readonly log: Logger
  /** ms. */
  readonly connectionTimeout: number
  /** How long a job of a process that died is left alone before another takes it up, in ms. */
  readonly jobLockMs: number
  /** A job that lost its process more often than this is failed: it may be what kills them. */
  readonly maxStalls: number
}

export interface ConsumerListener {
  /** A job of the queue lost its process and is given to another. With the version that ran it, when that process is this one. */
  readonly onStalled: (version: string | undefined) => void
  /** A job failed for good here. */
  readonly onDead: (job: Job) => void
}

/** How long a store that may be down gets to note the outcome of ended jobs, and then to close; and to end a fetch. In ms. */
const closeMs = 2_000

/** How long a store that answers takes at most to note the outcome of a job, in ms. */
const settleMs = 500

const stalledCheckMs = 5_000

/** The same complaint of a store that is down is logged once in this time. */
const quietMs = 30_000

/** Consumes the jobs of one worker. Used once: a worker that starts again gets a new one. */
export class Consumer {
  readonly #worker: Worker
  readonly #jobs: RunningJobs

  private constructor(worker: Worker, jobs: RunningJobs) {
    this.#worker = worker
    this.#jobs = jobs
  }

  /**
   * Connects within the connection timeout, or throws QUEUE_CONNECTION_ERROR. It takes no jobs before it is resumed.
   *
   * @param makeRunner makes what does the jobs, and notes those that run.
   * @param signal aborted when nobody waits for the connection any more.
   */
  static async open(
    record: WorkerRecord,
    makeRunner: (running: RunningJobs) => Processor,
    told: ConsumerListener,
    parts: ConsumerParts,
    signal: AbortSignal,
  ): Promise<Consumer> {
    const { queues, hooks, log } = parts
    const jobs = new RunningJobs(parts.clock)
    const run = makeRunner(jobs)
    // What it was fetching when it was paused still comes.
    const runUnlessPaused: Processor = (job, token) => (worker.isPaused() ? giveBack(job, token, jobs) : run(job, token))
    const worker: Worker = queues.worker(record.queueName, runUnlessPaused, {
      name: record.name,
      concurrency: actingConcurrency(record),
      autorun: false,
      lockDuration: parts.jobLockMs,
      stalledInterval: Math.min(parts.jobLockMs, stalledCheckMs),
      maxStalledCount: parts.maxStalls,
      ...(record.rateLimit === null ? {} : { limiter: record.rateLimit }),
    })
    const complain = complainer(record.name, parts)
    worker.on('error', complain)
    worker.on('completed', (job, result) => {
      jobs.stored(job)
      if (hooks.onJobComplete.active) hooks.onJobComplete.call(record.name, jobView(job, job.attemptsMade), givenResult(job, result))
    })
    const lose = (id: string): string | undefined => jobs.lose(id, workerErrors.JOB_LOCK_LOST(record.name, id))
    worker.on('lockRenewalFailed', (ids: readonly string[]) => {
      for (const id of ids) {
        if (lose(id) !== undefined) log.warn({ worker: record.name, job: id }, workerErrors.JOB_LOCK_LOST(record.name, id).message)
      }
    })
    worker.on('stalled', (id) => told.onStalled(lose(id)))
    worker.on('failed', (job, error) => {
      // A job that stalled too often and is gone by now comes as undefined.
      if (job === undefined) return
      jobs.stored(job)
      logFailure(record.name, job, error, log)
      if (isFinal(job)) told.onDead(job)
      if (hooks.onJobFailed.active) void tellFailure(record.name, job, error, parts)
    })
    try {
      const ready = abortable(worker.waitUntilReady(), signal)
      await withDeadline(ready, parts.connectionTimeout, `no answer within ${parts.connectionTimeout} ms`)
    } catch (error) {
      // Nobody waits for a connection that does not come: it is closed when it gives up.
      worker.close(true).catch(complain)
      throw workerErrors.QUEUE_CONNECTION_ERROR(`Worker "${record.name}" did not start`, messageOf(error))
    }
    return new Consumer(worker, jobs)
  }

  get busy(): number {
    return this.#jobs.count
  }

  /** Takes effect at once when it grows, and as jobs end when it shrinks. */
  async resize(concurrency: number): Promise<void> {
    const grows = concurrency > this.#worker.concurrency
    this.#worker.concurrency = concurrency
    if (!grows || !this.#worker.isRunning() || this.#worker.isPaused()) return
    // It looks for more jobs only when one ends, or when it is resumed.
    await this.#worker.pause(true)
    await this.#worker.resume()
  }

  /** Takes no more jobs; those that run go on, and one that still comes goes back. */
  async pause(): Promise<void> {
    await this.#worker.pause(true)
    await withDeadline(endFetch(this.#worker), closeMs, '').catch(() => undefined)
  }

  /** Takes jobs, for the first time or again. */
  async resume(): Promise<void> {
    if (this.#worker.isPaused()) await this.#worker.resume()
    else this.#worker.run().catch((error: Error) => this.#worker.emit('error', error))
  }

  /** Aborts the signal of a job that runs here. False when it does not. */
  cancel(job: string, reason: string): boolean {
    return this.#jobs.cancel(job, reason)
  }

  /** Takes no more jobs, lets running ones end, cancels those that do not, and closes. Always ends. */
  async close(waits: StopWaits): Promise<void> {
    const waiting = new AbortController()
    // A pause waits for ever for a store that is down, so it is also enough that nothing runs here any more. A second one waits for nothing.
    const drained = this.#worker.isPaused()
      ? this.#jobs.settled(settleMs)
      : Promise.race([this.#worker.pause(), this.#jobs.quiet(closeMs, waiting.signal)])
    if (!(await waits.drained(drained))) {
      this.#jobs.cancelAll(stopReason)
      await waits.cancelled(drained)
    }
    waiting.abort()
    await withDeadline(this.#worker.close(true), closeMs, '').catch(() => undefined)
  }
}

/** Without its data, which may be nobody's business. */
function logFailure(worker: string, job: Job, error: Error, log: Logger): void {
  const facts = { worker, job: job.id, name: job.name, attempt: job.attemptsMade, err: loggable(error) }
  if (isFinal(job)) log.warn(facts, `a job of worker "${worker}" failed for good: ${facts.err.message}`)
  else log.debug(facts, `a job of worker "${worker}" failed and is tried again: ${facts.err.message}`)
}

/** A job that failed before it ran has its data as they are stored: hooks see them as they were added, where that is possible. */
async function tellFailure(worker: string, job: Job, error: Error, { hooks, log }: ConsumerParts): Promise<void> {
  try {
    await openData(job, worker, hooks)
  } catch (unreadable) {
    log.debug({ worker, job: job.id, err: unreadable }, 'a failed job is told with its data as they are stored')
  }
  hooks.onJobFailed.call(worker, { ...jobView(job, job.attemptsMade), final: isFinal(job) }, error)
}

/** Whether a job that failed is not tried again, whatever its attempts say. */
function isFinal(job: Job): boolean {
  return job.finishedOn !== undefined
}

/** Ends an attempt that must not begin. */
async function giveBack(job: Job, token: string | undefined, jobs: RunningJobs): Promise<never> {
  const attempt = jobs.begin(job, '')
  try {
    throw await putBack(job, token, new Error('its worker takes no jobs'))
  } finally {
    jobs.end(attempt)
  }
}

function complainer(worker: string, { clock, log }: ConsumerParts): (error: unknown) => void {
  let last = { text: '', at: Number.NEGATIVE_INFINITY }
  return (error) => {
    const text = messageOf(error)
    const now = clock.monotonic()
    if (text === last.text && now - last.at < quietMs) return
    last = { text, at: now }
    log.warn({ worker, err: error }, `worker "${worker}": ${text}`)
  }
}
