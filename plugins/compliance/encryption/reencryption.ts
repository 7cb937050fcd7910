import { type Logger, messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import type { Marks } from '../store/marks.js'
import { walk, walkDeleted } from '../walk.js'

export interface ReencryptionParts {
  readonly queues: Queues
  readonly marks: Marks
  /** Called before anything is reported as done: the earlier keys may be removed then. */
  readonly keepDigestKeys: () => Promise<unknown>
  readonly log: Logger
  /** Id of the current key. */
  readonly keyId: string
  readonly isStale: (stored: unknown) => boolean
  /** Pause after each step, ms. */
  readonly pauseMs?: number
}

/** Progress of re-encrypting stored jobs with the current key. */
export interface ReencryptionProgress {
  /** `incomplete`: some jobs could not be read. */
  readonly state: 'idle' | 'running' | 'incomplete' | 'done'
  /** Jobs and schedules checked and rewritten in this process. */
  readonly looked: number
  readonly rewritten: number
  /** Jobs that could not be read, such as those whose key is not configured. */
  readonly unreadable: number
}

/** Maximum number of walks over all queues until the next start; one in each order that changes nothing ends it. */
const mostWalks = 10
const mark = 'encryption.key'

/**
 * Encrypts stored jobs with the current key: jobs encrypted with earlier keys, and plaintext jobs from before encryption was enabled. Runs
 * on the leader, in bounded steps, once per key. Running jobs are left to a later walk.
 */
export class Reencryption {
  readonly #parts: ReencryptionParts
  #progress: ReencryptionProgress = { state: 'idle', looked: 0, rewritten: 0, unreadable: 0 }

  constructor(parts: ReencryptionParts) {
    this.#parts = parts
  }

  get progress(): ReencryptionProgress {
    return this.#progress
  }

  /** Returns the progress in this process, or `done` if another process has finished. */
  async read(): Promise<ReencryptionProgress> {
    if (this.#progress.state !== 'idle') return this.#progress
    const { keyId, marks } = this.#parts
    return (await marks.get(mark)) === keyId ? { ...this.#progress, state: 'done' } : this.#progress
  }

  /** Resolves when everything is encrypted with the current key, or the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { keepDigestKeys, keyId, log, marks, queues } = this.#parts
    try {
      await keepDigestKeys()
      if ((await marks.get(mark)) === keyId) return this.#set({ state: 'done' })
      this.#set({ state: 'running' })
      let changed = false
      for (let walks = 0, quiet = 0; walks < mostWalks && !signal.aborted; walks++) {
        const left = await this.#walkAll(signal, walks % 2 === 1)
        changed ||= left > 0
        quiet = left > 0 ? 0 : quiet + 1
        if (quiet < 2 || signal.aborted) continue
        if (changed) await queues.scrub()
        if (this.#progress.unreadable > 0) return this.#set({ state: 'incomplete' })
        await marks.set(mark, keyId)
        return this.#set({ state: 'done' })
      }
    } catch (error) {
      log.warn(
        { err: error },
        `not all stored jobs could be encrypted with the current key: ${messageOf(error)}; this is retried at the next start`,
      )
    }
    this.#set({ state: 'idle' })
  }

  /** Returns how many jobs were rewritten, or are left for another walk. */
  async #walkAll(signal: AbortSignal, reverse: boolean): Promise<number> {
    const { log, queues } = this.#parts
    this.#set({ unreadable: 0 })
    let found = 0
    for (const queue of await queues.names()) {
      try {
        found += await this.#walkQueue(queue, signal, reverse)
      } catch (error) {
        if (queues.isUnavailable(error)) throw error
        // A broken queue does not keep the others.
        this.#set({ unreadable: this.#progress.unreadable + 1 })
        log.warn({ queue }, `jobs of queue "${queue}" could not be encrypted with the current key: ${messageOf(error)}`)
      }
      if (signal.aborted) break
    }
    return found
  }

  async #walkQueue(queue: string, signal: AbortSignal, reverse: boolean): Promise<number> {
    const { pauseMs, queues } = this.#parts
    let found = 0
    for (const { key } of await queues.queue(queue).getJobSchedulers(0, -1, true)) found += await this.#rewrite(queue, key, 'schedule')
    for await (const jobs of walk({ queues, queue, reverse, signal, ...(pauseMs !== undefined && { pauseMs }) })) {
      for (const { id = '' } of jobs) found += await this.#rewrite(queue, id, 'job')
    }
    for await (const jobs of walkDeleted({ queues, queue, signal })) {
      for (const { id } of jobs) found += await this.#rewrite(queue, id, 'deleted')
    }
    return found
  }

  async #rewrite(queue: string, id: string, kind: 'job' | 'deleted' | 'schedule'): Promise<number> {
    const { isStale, queues } = this.#parts
    const { looked, rewritten, unreadable } = this.#progress
    try {
      const outcome = await queues.rewrite(queue, id, { kind, only: isStale })
      this.#set({ looked: looked + 1, rewritten: rewritten + (outcome === 'rewritten' ? 1 : 0) })
      return outcome === 'rewritten' || outcome === 'busy' ? 1 : 0
    } catch (error) {
      if (queues.isUnavailable(error)) throw error
      this.#set({ looked: looked + 1, unreadable: unreadable + 1 })
      return 0
    }
  }

  #set(changes: Partial<ReencryptionProgress>): void {
    this.#progress = { ...this.#progress, ...changes }
  }
}
