import { type Logger, messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import type { Marks } from '../store/marks.js'
import { walk, walkDeleted } from '../walk.js'

export interface ReencryptionParts {
  readonly queues: Queues
  readonly marks: Marks
  readonly log: Logger
  /** Id of the key that encrypts now. */
  readonly keyId: string
  readonly isStale: (stored: unknown) => boolean
  /** Pause after each step, ms. */
  readonly pauseMs?: number
}

/** How far the stored jobs are encrypted with the present key. */
export interface ReencryptionProgress {
  /** `incomplete`: some could not be read. */
  readonly state: 'idle' | 'running' | 'incomplete' | 'done'
  /** Jobs and schedules that were looked at, and rewritten, in this process. */
  readonly looked: number
  readonly rewritten: number
  /** Those that could not be read, such as jobs of a key that is not configured. */
  readonly unreadable: number
}

/** Walks over all queues before it gives up until the next start; a walk that changes nothing ends it. */
const mostWalks = 10
const mark = 'encryption.key'

/**
 * Encrypts what is stored with the present key: jobs of earlier keys, and plain ones from before encryption was on. The leader does it, in
 * bounded steps, once for each key. Running jobs are left to a later walk.
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

  /** The progress in this process; what another one has finished is done as well. */
  async read(): Promise<ReencryptionProgress> {
    if (this.#progress.state !== 'idle') return this.#progress
    const { keyId, marks } = this.#parts
    return (await marks.get(mark)) === keyId ? { ...this.#progress, state: 'done' } : this.#progress
  }

  /** Resolves when all is encrypted with the present key, or the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { keyId, log, marks, queues } = this.#parts
    try {
      if ((await marks.get(mark)) === keyId) return this.#set({ state: 'done' })
      this.#set({ state: 'running' })
      let changed = false
      for (let walks = 0; walks < mostWalks && !signal.aborted; walks++) {
        const left = await this.#walkAll(signal)
        changed ||= left > 0
        if (left > 0 || signal.aborted) continue
        if (changed) await queues.scrub()
        if (this.#progress.unreadable > 0) return this.#set({ state: 'incomplete' })
        await marks.set(mark, keyId)
        return this.#set({ state: 'done' })
      }
    } catch (error) {
      log.warn(
        { err: error },
        `stored jobs were not all encrypted with the present key: ${messageOf(error)}; it is tried again at the next start`,
      )
    }
    this.#set({ state: 'idle' })
  }

  /** How many were rewritten, or are left for another walk. */
  async #walkAll(signal: AbortSignal): Promise<number> {
    const { pauseMs, queues } = this.#parts
    this.#set({ unreadable: 0 })
    let found = 0
    for (const queue of await queues.names()) {
      for (const { key } of await queues.queue(queue).getJobSchedulers(0, -1, true)) found += await this.#rewrite(queue, key, 'schedule')
      for await (const jobs of walk({ queues, queue, signal, ...(pauseMs !== undefined && { pauseMs }) })) {
        for (const { id = '' } of jobs) found += await this.#rewrite(queue, id, 'job')
      }
      for await (const jobs of walkDeleted({ queues, queue, signal })) {
        for (const { id } of jobs) found += await this.#rewrite(queue, id, 'deleted')
      }
      if (signal.aborted) break
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
