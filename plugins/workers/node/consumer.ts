import type { Job, Processor, Worker } from 'bullmq'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import { isRefusedOutcome, isWrongType, type Queues } from 'zin/plugins/queues'
import { abortable } from 'zin/plugins/redis'
import { workerErrors } from '../errors.js'
import { stopReason } from '../jobs/stop-reason.js'
import { stricter } from '../record/limits.js'
import type { RateLimit, WorkerRecord } from '../record/record.js'
import { actingConcurrency } from '../record/scaled.js'
import type { Attempt } from './attempt.js'
import type { AttemptRecords } from './attempt-records.js'
import { complainer } from './complainer.js'
import { endFetch } from './end-fetch.js'
import type { Fetching } from './fetch-watch.js'
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
  /** How long the lock of a job outlives a node that died, before another node may take the job, in ms. */
  readonly jobLockMs: number
  /** A job that lost its node more often than this fails, because it may be what kills the nodes. */
  readonly maxStalls: number
  /** The rate limit of a queue, which other workers may have set; undefined: none. */
  readonly limitOf?: (queue: string) => RateLimit | undefined
}

/** Everything that a consumer needs to run its jobs. */
export interface Attempts {
  readonly run: Processor
  readonly running: RunningJobs
  readonly records: AttemptRecords
  readonly timeLimits: TimeLimits
}

/** Deadline for a store that may be down: to store the outcomes of ended jobs, then to close, and to end a fetch. In ms. */
const closeMs = 2_000

/** Maximum time between two checks for stalled jobs, in ms. */
const mostStalledCheckMs = 5_000

/** Interval of the checks for stalled jobs of a worker, in ms. The nodes of the worker take turns. */
export function stalledCheckMs(jobLockMs: number): number {
  return Math.min(jobLockMs, mostStalledCheckMs)
}

/** How often a node checks whether it is its turn, in ms. Checks by two nodes are hardly ever closer together than the share below. */
export function stalledTickMs(jobLockMs: number): number {
  return stalledCheckMs(jobLockMs) / 10
}

/** Share of the interval during which a further check of the same queue does nothing. */
const stalledCheckShare = 0.8

/** How long an idle worker blocks on Redis before it polls again, in s. Jobs wake it, so this only determines the cost of idling. */
const drainDelay = 15

/** How long a worker waits after a failed fetch, in ms. */
const runRetryDelay = 1_000

/** The part of BullMQ's worker that receives what a fetch has found: nothing, if `data` is empty. */
interface Taking {
  nextJobFromJobData(data: unknown, id: string | undefined, token: string): Promise<Job | undefined>
}

/** Consumes the jobs of one worker. Single-use: a worker that starts again gets a new consumer. */
export class Consumer {
  readonly #worker: Worker
  readonly #jobs: RunningJobs
  readonly #records: AttemptRecords
  readonly #timeLimits: TimeLimits
  #emptyAt = Number.NEGATIVE_INFINITY

  private constructor(worker: Worker, { records, running, timeLimits }: Attempts, clock: Clock) {
    this.#worker = worker
    const own = worker as unknown as Taking
    const { nextJobFromJobData } = own
    own.nextJobFromJobData = (data, id, token) => {
      if (!data) this.#emptyAt = clock.monotonic()
      return nextJobFromJobData.call(worker, data, id, token)
    }
    this.#jobs = running
    this.#records = records
    this.#timeLimits = timeLimits
  }

  /**
   * Connects within the connection timeout, or throws QUEUE_CONNECTION_ERROR. The consumer takes no jobs until it is resumed.
   *
   * @param signal aborts the wait for the connection.
   * @param onBroken called with each error that says that a key of the queue was overwritten.
   */
  static async open(
    record: WorkerRecord,
    attempts: Attempts,
    parts: ConsumerParts,
    { signal, onBroken }: { readonly signal: AbortSignal; readonly onBroken: (error: Error) => void },
  ): Promise<Consumer> {
    const { queues, log } = parts
    const { records, run, running } = attempts
    // A job that was being fetched at the time of the pause still arrives.
    const runUnlessPaused: Processor = (job, token) => (worker.isPaused() ? giveBack(job, token, running) : run(job, token))
    const worker: Worker = queues.worker(record.queueName, runUnlessPaused, {
      concurrency: actingConcurrency(record),
      autorun: false,
      lockDuration: parts.jobLockMs,
      runRetryDelay,
      ...(queues.backend === 'redis' ? { drainDelay } : {}),
      // The nodes of the worker take turns: see `checkStalled`.
      skipStalledCheck: true,
      stalledInterval: Math.floor(stalledCheckMs(parts.jobLockMs) * stalledCheckShare),
      maxStalledCount: parts.maxStalls,
    })
    // BullMQ reads it with each fetch. The limit of one worker holds for the queue: the others must count their jobs, too.
    Object.defineProperty(worker.opts, 'limiter', { get: () => stricter(record.rateLimit, parts.limitOf?.(record.queueName)) })
    const complain = complainer(record.name, parts)
    worker.on('error', (error) => {
      if (isWrongType(error)) onBroken(error)
      if (!isRefusedOutcome(error)) complain(error)
    })
    worker.on('completed', (job, result) => records.completed(job, result))
    worker.on('lockRenewalFailed', (ids: readonly string[]) => {
      for (const id of ids) {
        const lost = workerErrors.JOB_LOCK_LOST(record.name, id)
        if (running.lose(id, lost) !== undefined) log.warn({ worker: record.name, job: id }, lost.message)
      }
    })
    worker.on('stalled', (id) => records.stalled(id))
    worker.on('failed', (job, error) => {
      // Undefined: a job that stalled too often and has been removed since.
      if (job !== undefined) records.failed(job, error)
    })
    try {
      const ready = abortable(worker.waitUntilReady(), signal)
      await withDeadline(ready, parts.connectionTimeout, `no response within ${parts.connectionTimeout} ms`)
    } catch (error) {
      // Not awaited: it ends only when the connection attempt does.
      worker.close(true).catch(complain)
      throw workerErrors.QUEUE_CONNECTION_ERROR(`Worker "${record.name}" did not start`, messageOf(error))
    }
    return new Consumer(worker, attempts, parts.clock)
  }

  get queue(): string {
    return this.#worker.name
  }

  get busy(): number {
    return this.#jobs.count
  }

  /** Ids of its running jobs. */
  get running(): readonly string[] {
    return this.#jobs.ids
  }

  get fetching(): Fetching {
    const worker = this.#worker
    // biome-ignore lint/complexity/useLiteralKeys: the method is private
    const held = !worker.isRunning() || worker.isPaused() || worker['isRateLimited']()
    return { taken: this.#jobs.begun, free: !held && this.busy < worker.concurrency, emptyAt: this.#emptyAt }
  }

  /** Moves stalled jobs of the queue back to waiting. Never rejects. */
  async checkStalled(): Promise<void> {
    try {
      const moved = this.#worker.getBackend().moveStalledJobsToWait()
      for (const id of await withDeadline(moved, closeMs, `no response within ${closeMs} ms`)) this.#worker.emit('stalled', id, 'active')
    } catch (error) {
      if (!this.#worker.closing) this.#worker.emit('error', error instanceof Error ? error : new Error(messageOf(error)))
    }
  }

  /** Changes the concurrency: an increase takes effect immediately, a decrease as jobs end. */
  async resize(concurrency: number): Promise<void> {
    const grows = concurrency > this.#worker.concurrency
    this.#worker.concurrency = concurrency
    if (!grows || !this.#worker.isRunning() || this.#worker.isPaused()) return
    // BullMQ fetches more jobs only when one ends, or when the worker is resumed.
    await this.#worker.pause(true)
    await this.#worker.resume()
  }

  /** Stops taking jobs. Running ones continue, and a job that still arrives goes back to the queue. */
  async pause(): Promise<void> {
    await this.#worker.pause(true)
    await withDeadline(endFetch(this.#worker), closeMs, '').catch(() => undefined)
  }

  /** Starts to take jobs, or resumes. */
  async resume(): Promise<void> {
    if (this.#worker.isPaused()) await this.#worker.resume()
    else this.#worker.run().catch((error: Error) => this.#worker.emit('error', error))
  }

  /** Aborts the signal of a job; false if the job does not run here. */
  cancel(job: string, reason: string): boolean {
    return this.#jobs.cancel(job, reason)
  }

  /** The process ends because of an error that nothing caught, in the code of the attempt. */
  crash(error: Error, culprit: Attempt): void {
    this.#jobs.crash(error, culprit)
  }

  /** Stops taking jobs, waits for running ones, cancels those that exceed the drain time, and closes. Always resolves. */
  async close(waits: StopWaits): Promise<void> {
    const waiting = new AbortController()
    await this.#worker.pause(true)
    // With a store that is down, the fetch does not end, so it is also sufficient that no job runs here any more.
    // biome-ignore lint/complexity/useLiteralKeys: the method is private, and `pause` calls it only for a worker that is not paused yet
    const drained = Promise.race([this.#worker['whenCurrentJobsFinished'](false), this.#jobs.quiet(closeMs, waiting.signal)])
    if (!(await waits.drained(drained))) {
      this.#jobs.cancelAll(stopReason)
      await waits.cancelled(drained)
    }
    waiting.abort()
    await withDeadline(this.#jobs.settleCrash(), closeMs, '').catch(() => undefined)
    await withDeadline(this.#records.settled(), closeMs, '').catch(() => undefined)
    await withDeadline(this.#worker.close(true), closeMs, '').catch(() => undefined)
    this.#timeLimits.close()
  }
}

/** Returns a job to the queue instead of running it. */
async function giveBack(job: Job, token: string | undefined, jobs: RunningJobs): Promise<never> {
  const attempt = jobs.begin(job, token, '')
  try {
    throw await putBack(job, token, new Error('the worker is paused or stopping'))
  } finally {
    jobs.end(attempt)
  }
}
