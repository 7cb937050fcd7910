import type { Job } from 'bullmq'
import { type Clock, type Logger, messageOf } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { PurgedJob, Queues } from 'zin/plugins/queues'
import type { AttemptEnd } from 'zin/plugins/workers'
import type { JobAttempt, JobAttempts } from '../contract.js'

export interface AttemptHistoryOptions {
  readonly kv: Kv
  readonly queues: Pick<Queues, 'backend' | 'storedText' | 'restoredText' | 'queue' | 'deletedJob' | 'names'>
  readonly clock: Clock
  readonly log: Logger
  readonly keptMs: number
}

/** Limit on attempts shown per job: the first ones and the newest. */
const mostShown = 50
/** Limit on attempts buffered per process between two flushes (1 s); further attempts are dropped. */
const mostBuffered = 500
const writtenAtOnce = 50
const mostError = 500
/** How the error of a job repeats that of its child. */
const ofChild = /\bchild ([\w.-]{1,100}):([^\s:]{1,200}) failed: /g
const keyOf = (queue: string, id: string, attempt: number): string => `monitor:attempt:${queue}:${id}:${attempt}`

/** Completed first attempts remembered per process. */
const mostRemembered = 2_000
/** Tolerated difference between the clocks of the store and the node, in ms. */
const sameEndMs = 5_000

const jobOf = ({ id, queue }: { readonly queue: string; readonly id: string }): string => `${queue}:${id}`

interface BufferedAttempt {
  readonly queue: string
  readonly id: string
  readonly key: string
  readonly attempt: JobAttempt
}

type Remembered = Pick<AttemptEnd, 'version' | 'node' | 'runMs' | 'waitMs'> & { readonly at: number }

/**
 * Stores the attempts of jobs that did not complete on the first attempt. Completed first attempts are not stored, because one write per
 * job would cost a third of the throughput: they are derived from the job, and each process remembers its latest ones in memory.
 */
export class AttemptHistory {
  readonly #options: AttemptHistoryOptions
  #buffer: BufferedAttempt[] = []
  #dropped = 0
  /** Jobs that were purged since the last flush. */
  readonly #forgotten = new Set<string>()
  /** By key, oldest first. */
  readonly #remembered = new Map<string, Remembered>()

  constructor(options: AttemptHistoryOptions) {
    this.#options = options
  }

  /** Records the end of an attempt in this process. */
  ended({ attempt, error, job, node, outcome, runMs, version, waitMs }: AttemptEnd): void {
    if (outcome === 'deferred') return
    if (outcome === 'completed' && attempt === 1) {
      const [oldest] = this.#remembered.size < mostRemembered ? [] : this.#remembered.keys()
      if (oldest !== undefined) this.#remembered.delete(oldest)
      this.#remembered.set(keyOf(job.queue, job.id, 1), { version, node, runMs, waitMs, at: this.#options.clock.now() })
      return
    }
    if (this.#buffer.length >= mostBuffered) {
      this.#dropped++
      return
    }
    const endedAt = new Date(this.#options.clock.now()).toISOString()
    const text = error === undefined ? null : error.message.slice(0, mostError)
    const noted = { attempt, outcome, version, node, endedAt, runMs: Math.round(runMs), waitMs: Math.round(waitMs), error: text }
    this.#buffer.push({ queue: job.queue, id: job.id, key: keyOf(job.queue, job.id, attempt), attempt: noted })
  }

  /** Stores the buffered attempts. */
  async flush(): Promise<void> {
    const { log } = this.#options
    const all = this.#buffer
    if (this.#dropped > 0)
      log.warn(`${this.#dropped} job attempts are missing from the history: more than ${mostBuffered} attempts per second had to be stored`)
    this.#buffer = []
    this.#dropped = 0
    try {
      for (let from = 0; from < all.length; from += writtenAtOnce) {
        const some = all.slice(from, from + writtenAtOnce)
        await Promise.all(some.map((one) => this.#write(one)))
      }
    } catch (error) {
      log.warn({ err: error }, `job attempts could not be stored: ${messageOf(error)}`)
    } finally {
      this.#forgotten.clear()
    }
  }

  /**
   * Stores an attempt unless its job has been purged since it ended. Embedded stores belong to one process, and what is deleted from them may
   * stay in their files, so nothing is written that would have to be deleted. On servers, another process may purge the job meanwhile.
   */
  async #write(one: BufferedAttempt): Promise<void> {
    const { keptMs, kv, queues } = this.#options
    const text = JSON.stringify(await this.#stored(one))
    const isAlone = queues.backend === 'embedded'
    if (isAlone && (!(await this.#exists(one)) || this.#isForgotten(one))) return
    await kv.set(one.key, text, { ttlMs: keptMs })
    if (!isAlone && !(await this.#exists(one))) await kv.delete(one.key)
  }

  /** Reads the attempts of a job in one round trip. */
  async read(job: Job, state: string): Promise<JobAttempts> {
    const last = Math.max(job.attemptsMade, Math.min(job.attemptsStarted, job.attemptsMade + 1))
    const numbers = Array.from({ length: last }, (_, i) => i + 1)
    const shown = numbers.length <= mostShown ? numbers : [...numbers.slice(0, 5), ...numbers.slice(5 - mostShown)]
    const counts = { total: last, omitted: last - shown.length }
    if (shown.length === 0) return { attempts: [], ...counts }
    const stored = await this.#options.kv.getMany(shown.map((attempt) => keyOf(job.queueName, job.id ?? '', attempt)))
    const found = shown.map(async (attempt, i) => {
      const text = stored[i]
      if (text !== null && text !== undefined) return [await this.#restored(job.queueName, JSON.parse(text) as JobAttempt)]
      return attempt === last ? this.#known(job, lastOf(job, state, attempt)) : []
    })
    return { attempts: (await Promise.all(found)).flat(), ...counts }
  }

  /** Deletes the attempts of purged jobs. */
  async forget(queue: string, jobs: readonly PurgedJob[]): Promise<void> {
    const ids = new Set(jobs.map(({ id }) => id))
    for (const id of ids) this.#forgotten.add(jobOf({ queue, id }))
    this.#buffer = this.#buffer.filter((one) => one.queue !== queue || !ids.has(one.id))
    const keys: string[] = []
    for (const { attempts, id } of jobs) {
      const known = Array.from({ length: attempts ?? 0 }, (_, i) => keyOf(queue, id, i + 1))
      keys.push(...(attempts === undefined ? await this.#storedOf(queue, id) : known))
      for (const key of [keyOf(queue, id, 1), ...known]) this.#remembered.delete(key)
    }
    for (let from = 0; from < keys.length; from += writtenAtOnce) {
      await Promise.all(keys.slice(from, from + writtenAtOnce).map((key) => this.#options.kv.delete(key)))
    }
  }

  /** Keys of the stored attempts of a job whose number of attempts is unknown, because it no longer exists. */
  async #storedOf(queue: string, id: string): Promise<readonly string[]> {
    const found: string[] = []
    for (let from = 1; ; from += writtenAtOnce) {
      const keys = Array.from({ length: writtenAtOnce }, (_, i) => keyOf(queue, id, from + i))
      const texts = await this.#options.kv.getMany(keys)
      const stored = keys.filter((_, i) => texts[i] !== null && texts[i] !== undefined)
      found.push(...stored)
      if (stored.length === 0) return found
    }
  }

  /** Whether the job of an attempt, or one whose error it repeats, was purged since the last flush. */
  #isForgotten({ attempt, ...job }: BufferedAttempt): boolean {
    const children = [...(attempt.error ?? '').matchAll(ofChild)].map(([, queue = '', id = '']) => ({ queue, id }))
    return [job, ...children].some((one) => this.#forgotten.has(jobOf(one)))
  }

  /** Whether the job of an attempt, and those whose errors it repeats, exist or can be restored. True if that cannot be told now. */
  async #exists({ attempt, id, queue }: BufferedAttempt): Promise<boolean> {
    const { queues } = this.#options
    const isThere = async (of: string, job: string): Promise<boolean> =>
      (await queues.queue(of).getJobState(job)) !== 'unknown' || (await queues.deletedJob(of, job)) !== undefined
    const read = async (): Promise<boolean> => {
      const children = [...(attempt.error ?? '').matchAll(ofChild)]
      // A processor may write such a text, too.
      const names = children.length === 0 ? [] : await queues.names()
      for (const [, of = '', child = ''] of children) if (names.includes(of) && !(await isThere(of, child))) return false
      return isThere(queue, id)
    }
    return read().catch(() => true)
  }

  /** Adds what this process remembers to attempts derived from the job. */
  #known({ finishedOn = 0, id = '', queueName }: Job, attempts: readonly JobAttempt[]): readonly JobAttempt[] {
    return attempts.map((attempt) => {
      const known = this.#remembered.get(keyOf(queueName, id, attempt.attempt))
      if (known === undefined || attempt.outcome !== 'completed' || Math.abs(known.at - finishedOn) > sameEndMs) return attempt
      const { node, runMs, version, waitMs } = known
      return { ...attempt, version, node, runMs: Math.round(runMs), waitMs: Math.round(waitMs) }
    })
  }

  async #stored({ attempt, queue }: { readonly queue: string; readonly attempt: JobAttempt }): Promise<JobAttempt> {
    const { error } = attempt
    return error === null ? attempt : { ...attempt, error: await this.#options.queues.storedText(queue, error, 'error') }
  }

  async #restored(queue: string, attempt: JobAttempt): Promise<JobAttempt> {
    const { error } = attempt
    return error === null ? attempt : { ...attempt, error: await this.#options.queues.restoredText(queue, error, 'error') }
  }
}

/** Derives the last attempt from the job. */
function lastOf({ failedReason, finishedOn, processedOn }: Job, state: string, attempt: number): readonly JobAttempt[] {
  if ((state !== 'completed' && state !== 'failed') || !finishedOn) return []
  const error = state === 'failed' ? (failedReason ?? '').slice(0, mostError) : null
  const runMs = processedOn ? Math.max(0, finishedOn - processedOn) : 0
  return [{ attempt, outcome: state, version: null, node: null, endedAt: new Date(finishedOn).toISOString(), runMs, waitMs: null, error }]
}
