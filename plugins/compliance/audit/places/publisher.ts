import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import { type Checkpoint, joined } from './checkpoint.js'

export interface PublisherParts {
  /** Where the checkpoints go, for messages: `kv`, `the anchor file /var/…`. */
  readonly place: string
  readonly save: (checkpoint: Checkpoint) => Promise<void>
  /** Minimum time between two saves, in ms. */
  readonly everyMs: number
  /** Deadline of a save, in ms. */
  readonly deadlineMs: number
  readonly clock: Clock
  readonly log: Logger
  /** Called when saving begins to fail, and when it works again. */
  readonly onState: (state: PublisherState) => void
}

export interface PublisherState {
  readonly place: string
  /** Since when saving has failed, in ms since 1970; undefined while it works. */
  readonly failingSince: number | undefined
  readonly error?: string
  /** Checkpoints saved by this process. */
  readonly saved: number
}

/** Interval between attempts while saving fails, in ms. */
const retryMs = 5_000

/** Brings the newest checkpoint of this process to another place, one at a time. A newer one replaces one that is still waiting. */
export class Publisher {
  readonly #parts: PublisherParts
  #next: Checkpoint | undefined
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #failing: { readonly since: number; readonly error: string } | undefined
  #saved = 0
  #isPending = false
  #closed = false

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  get state(): PublisherState {
    return {
      place: this.#parts.place,
      failingSince: this.#failing?.since,
      saved: this.#saved,
      ...(this.#failing === undefined ? {} : { error: this.#failing.error }),
    }
  }

  /** Saves the checkpoint soon. Never throws. */
  put(checkpoint: Checkpoint): void {
    if (this.#closed) return
    this.#next = joined(this.#next, checkpoint)
    this.#schedule()
  }

  /** Resolves when the newest checkpoint is saved, or could not be saved. Never rejects. */
  async flush(): Promise<void> {
    if (this.#running !== undefined) {
      await this.#running
      if (this.#failing !== undefined) return
    }
    while (this.#next !== undefined) {
      await this.#run()
      if (this.#failing !== undefined) return
    }
  }

  /** Saves what is waiting, once, and starts nothing afterwards: a save that ends may be due again at once. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.flush()
    if (this.#next === undefined) return
    const { log, place } = this.#parts
    log.warn({ chain: this.#next.chain }, `the last seal of the audit log could not be written to ${place}: ${this.#failing?.error}`)
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#timer !== undefined || this.#closed) return
    const { clock, everyMs } = this.#parts
    const pauseMs = this.#failing === undefined ? everyMs : Math.max(everyMs, retryMs)
    const waitMs = this.#startedAt + pauseMs - clock.monotonic()
    if (waitMs <= 0) {
      void this.#run()
      return
    }
    this.#timer = setTimeout(() => void this.#run(), waitMs).unref()
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running ??= this.#save().finally(() => {
      this.#running = undefined
      if (this.#next !== undefined) this.#schedule()
    })
    return this.#running
  }

  async #save(): Promise<void> {
    const { clock, deadlineMs, place } = this.#parts
    const checkpoint = this.#next
    if (checkpoint === undefined) return
    this.#next = undefined
    this.#startedAt = clock.monotonic()
    try {
      await withDeadline(this.#saveOnce(checkpoint), deadlineMs, `${place} did not respond within ${deadlineMs} ms`)
    } catch (error) {
      this.#next = this.#next === undefined ? checkpoint : joined(checkpoint, this.#next)
      this.#failed(error)
      return
    }
    this.#saved += 1
    this.#worked()
  }

  /** A save that missed its deadline goes on, so the next one must not pile up behind it. */
  async #saveOnce(checkpoint: Checkpoint): Promise<void> {
    if (this.#isPending) throw new Error('an earlier write has not ended')
    this.#isPending = true
    try {
      await this.#parts.save(checkpoint)
    } finally {
      this.#isPending = false
    }
  }

  #failed(error: unknown): void {
    const { clock, log, onState, place } = this.#parts
    const isNew = this.#failing === undefined
    this.#failing = { since: this.#failing?.since ?? clock.now(), error: messageOf(error) }
    if (!isNew) return
    log.error({ err: error }, `the seals of the audit log cannot be written to ${place}; no entry is lost: ${messageOf(error)}`)
    onState(this.state)
  }

  #worked(): void {
    if (this.#failing === undefined) return
    const { log, onState, place } = this.#parts
    this.#failing = undefined
    log.info(`the seals of the audit log can be written to ${place} again`)
    onState(this.state)
  }
}
