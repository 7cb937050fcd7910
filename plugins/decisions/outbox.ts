import { type Logger, messageOf } from 'zin'
import type { Decision } from './contract.js'

export interface OutboxOptions {
  readonly add: (decisions: readonly Decision[]) => Promise<void>
  readonly log: Logger
  /** Maximum number of buffered decisions. Default 1000. */
  readonly most?: number
}

/** Decisions per statement. */
const batch = 100

/**
 * Buffers decisions on their way to the store. If it is full, the oldest are kept, because they show how the problem began. Dropped
 * decisions are written to the log.
 */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #waiting: Decision[] = []
  #sending: Promise<void> | undefined
  #state: 'new' | 'open' | 'closed' = 'new'
  #down = false

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  put(decision: Decision): void {
    const { most = 1000 } = this.#options
    if (this.#state === 'closed') this.#drop(decision, 'the app is stopping')
    else if (this.#waiting.length >= most) this.#drop(decision, 'the store is down and the buffer is full')
    else this.#waiting.push(decision)
    if (!this.#down) void this.send()
  }

  /** Starts writing to the store. */
  open(): void {
    this.#state = 'open'
    void this.send()
  }

  /** Resolves when all buffered decisions are stored, or the store has failed. Never rejects. */
  async send(): Promise<void> {
    if (this.#state !== 'open' || this.#waiting.length === 0) return
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    await this.#sending
  }

  /** Stores the buffered decisions, or drops them. */
  async close(): Promise<void> {
    await this.send()
    this.#state = 'closed'
    for (const decision of this.#waiting.splice(0)) this.#drop(decision, 'the app is stopping and the store is down')
  }

  async #sendAll(): Promise<void> {
    const { add, log } = this.#options
    // Batches the decisions of one turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const some = this.#waiting.slice(0, batch)
      try {
        await add(some)
      } catch (error) {
        if (!this.#down) log.warn({ err: error }, `decisions cannot be stored and are buffered in memory: ${messageOf(error)}`)
        this.#down = true
        return
      }
      this.#waiting.splice(0, some.length)
      if (this.#down) log.info({ waiting: this.#waiting.length }, 'decisions can be stored again')
      this.#down = false
    }
  }

  #drop({ id, at, kind, subject, verdict, acted, reason, rule }: Decision, why: string): void {
    this.#options.log.error(
      { decision: { id, at, kind, subject, verdict, acted, reason, rule } },
      `a decision about ${subject} was not stored because ${why}: ${reason}`,
    )
  }
}
