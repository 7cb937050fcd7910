import type { Job, Processor, Worker } from 'bullmq'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import { isRefusedOutcome, type Queues } from 'zin/plugins/queues'
import { abortable } from 'zin/plugins/redis'
import { workerErrors } from '../errors.js'
import { stopReason } from '../jobs/stop-reason.js'
import type { WorkerRecord } from '../record/record.js'
import { actingConcurrency } from '../record/scaled.js'
import type { AttemptRecords } from './attempt-records.js'
import { complainer } from './complainer.js'
import { endFetch } from './end-fetch.js'
import { putBack } from './put-back.js'
import type { RunningJobs } from './running-jobs.js'
import type { StopWaits } from './stop-waits.js'
import type { TimeLimits } from './time-limit.js'

export interface ConsumerParts {
  readonly queues: Queues
  readonly clock: Clock
  readonly log: Logger
  /** ms. */
  readonly connectionTimeout: number
  /** How long a job of a process that died is left alone before another takes it up, in ms. */
  readonly jobLockMs: number
  /** A job that lost its process more often than this is failed: it may be what kills them. */
  readonly maxStalls: number
}

/** What a consumer does its jobs with. */
export interface Attempts {
  readonly run: Processor
  readonly running: RunningJobs
  readonly records: AttemptRecords
  readonly timeLimits: TimeLimits
}

/** How long a store that may be down gets to note the outcome of ended jobs, and then to close; and to end a fetch. In ms. */
const closeMs = 2_000

/** How long a store that answers takes at most to note the outcome of a job, in ms. */
const settleMs = 500

/** Longest time between two checks for jobs that lost their node, in ms. */
const mostStalledCheckMs = 5_000

/** How often one of the nodes of a worker looks for jobs that lost their node, in ms: each of them in turn. */
export function stalledCheckMs(jobLockMs: number): number {
  return Math.min(jobLockMs, mostStalledCheckMs)
}

/** How often a node looks whether its turn has come, in ms: checks of two nodes are hardly ever closer than the share below. */
export function stalledTickMs(jobLockMs: number): number {
  return stalledCheckMs(jobLockMs) / 10
}

/** Of the time between two checks, for how long another check of the queue does nothing. */
const stalledCheckShare = 0.8

/** How long an idle worker waits on Redis for a job before it asks again, in s: jobs wake it, so this is only what idling costs. */
const drainDelay = 15

/** Consumes the jobs of one worker. Used once: a worker that starts again gets a new one. */
export class Consumer {
  readonly #worker: Worker
  readonly #jobs: RunningJobs
  readonly #records: AttemptRecords
  readonly #timeLimits: TimeLimits

  private constructor(worker: Worker, { records, running, timeLimits }: Attempts) {
    this.#worker = worker
    this.#jobs = running
    this.#records = records
    this.#timeLimits = timeLimits
  }

  /**
   * Connects within the connection timeout, or throws QUEUE_CONNECTION_ERROR. It takes no jobs before it is resumed.
   *
   * @param signal aborted when nobody waits for the connection any more.
   */
  static async open(record: WorkerRecord, attempts: Attempts, parts: ConsumerParts, signal: AbortSignal): Promise<Consumer> {
    const { queues, log } = parts
    const { records, run, running } = attempts
    // What it was fetching when it was paused still comes.
    const runUnlessPaused: Processor = (job, token) => (worker.isPaused() ? giveBack(job, token, running) : run(job, token))
    const worker: Worker = queues.worker(record.queueName, runUnlessPaused, {
      concurrency: actingConcurrency(record),
      autorun: false,
      lockDuration: parts.jobLockMs,
      ...(queues.backend === 'redis' ? { drainDelay } : {}),
      // Its nodes do it in turn: see `checkStalled`.
      skipStalledCheck: true,
      stalledInterval: Math.floor(stalledCheckMs(parts.jobLockMs) * stalledCheckShare),
      maxStalledCount: parts.maxStalls,
      ...(record.rateLimit === null ? {} : { limiter: record.rateLimit }),
    })
    const complain = complainer(record.name, parts)
    worker.on('error', (error) => isRefusedOutcome(error) || complain(error))
    worker.on('completed', (job, result) => records.completed(job, result))
    worker.on('lockRenewalFailed', (ids: readonly string[]) => {
      for (const id of ids) {
        const lost = workerErrors.JOB_LOCK_LOST(record.name, id)
        if (running.lose(id, lost) !== undefined) log.warn({ worker: record.name, job: id }, lost.message)
      }
    })
    worker.on('stalled', (id) => records.stalled(id))
    worker.on('failed', (job, error) => {
      // A job that stalled too often and is gone by now comes as undefined.
      if (job !== undefined) records.failed(job, error)
    })
    try {
      const ready = abortable(worker.waitUntilReady(), signal)
      await withDeadline(ready, parts.connectionTimeout, `no response within ${parts.connectionTimeout} ms`)
    } catch (error) {
      // Nobody waits for a connection that does not come: it is closed when it gives up.
      worker.close(true).catch(complain)
      throw workerErrors.QUEUE_CONNECTION_ERROR(`Worker "${record.name}" did not start`, messageOf(error))
    }
    return new Consumer(worker, attempts)
  }

  get busy(): number {
    return this.#jobs.count
  }

  /** Gives jobs of the queue that lost their node to another. Never rejects. */
  async checkStalled(): Promise<void> {
    try {
      const moved = this.#worker.getBackend().moveStalledJobsToWait()
      for (const id of await withDeadline(moved, closeMs, `no response within ${closeMs} ms`)) this.#worker.emit('stalled', id, 'active')
    } catch (error) {
      if (!this.#worker.closing) this.#worker.emit('error', error instanceof Error ? error : new Error(messageOf(error)))
    }
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
    await withDeadline(this.#records.settled(), closeMs, '').catch(() => undefined)
    await withDeadline(this.#worker.close(true), closeMs, '').catch(() => undefined)
    this.#timeLimits.close()
  }
}

/** Ends an attempt that must not begin. */
async function giveBack(job: Job, token: string | undefined, jobs: RunningJobs): Promise<never> {
  const attempt = jobs.begin(job, token, '')
  try {
    throw await putBack(job, token, new Error('its worker takes no jobs'))
  } finally {
    jobs.end(attempt)
  }
}
