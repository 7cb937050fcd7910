import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { KeyRing } from '../keys.js'
import { type Batch, batchLength, batchOf, gapEntry, type Waiting } from './batch.js'
import { type Chain, withHead } from './chain.js'
import { type AuditFacts, fitted, perChain } from './entry.js'
import { openChain } from './open-chain.js'
import type { AuditStore } from './store/contract.js'

export interface WriterParts {
  readonly store: AuditStore
  readonly keys: KeyRing
  readonly node: string
  readonly clock: Clock
  readonly log: Logger
  /** Most entries that wait without a caller, see {@link AuditWriter.put}. */
  readonly backlog: number
  /** Hears that the log cannot be written, and that it can be again. */
  readonly onState: (state: WriterState) => void
}

/** What the writer could not do lately. */
export interface WriterState {
  /** Since when it cannot write, ms since 1970; undefined: it can. */
  readonly downSince: number | undefined
  /** Entries that wait. */
  readonly waiting: number
  /** Entries that were not kept since the last one that was written; their number will be written. */
  readonly unkept: number
  readonly error?: string
}

/** Totals of this process. */
export interface WriterTotals {
  readonly written: number
  readonly unkept: number
  /** Callers that were told that their entry cannot be written. */
  readonly refused: number
}

/** How long entries without a caller wait for others, in ms. */
const gatherMs = 250
/** Longest wait for the store, in ms; below the deadline of a gate. */
const storeMs = 3_000
/** While the store is down: how long no new attempt is made, in ms. */
const retryMs = 1_000
/** Most callers that wait at once. */
const mostCallers = 2_000
/** So many that wait are written at once. */
const soonEntries = 500

/** Writes the chain of this process: in batches, one at a time, in the order in which entries came. */
export class AuditWriter {
  readonly #parts: WriterParts
  readonly #queue: Waiting[] = []
  /** A batch that was tried, and may be in the store or not: it is written again as it is. */
  #pending: Batch | undefined
  #chain: Chain | undefined
  #callers = 0
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #down: { readonly since: number; readonly error: string } | undefined
  #unkept = { since: 0, now: 0 }
  #totals = { written: 0, unkept: 0, refused: 0 }
  #closed = false

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  get state(): WriterState {
    const waiting = this.#queue.length + (this.#pending?.entries.length ?? 0)
    return {
      downSince: this.#down?.since,
      waiting,
      unkept: this.#unkept.now,
      ...(this.#down === undefined ? {} : { error: this.#down.error }),
    }
  }

  get totals(): WriterTotals {
    return { ...this.#totals }
  }

  /** The chain as this process last wrote it; undefined before its first entry. */
  get chain(): Chain | undefined {
    return this.#chain
  }

  /** Resolves with its id once the entry is stored. Rejects when it cannot be, at once while the store is known to be down. */
  write(facts: AuditFacts): Promise<number> {
    if (this.#closed || this.#isResting() || this.#callers >= mostCallers) return Promise.reject(this.#refusal())
    return new Promise((resolve, reject) => {
      this.#callers += 1
      const settle =
        <T>(end: (value: T) => void) =>
        (value: T): void => {
          this.#callers -= 1
          end(value)
        }
      this.#queue.push({ facts: fitted(facts), caller: { resolve: settle(resolve), reject: settle(reject) } })
      this.#start(0)
    })
  }

  /** Writes the entry soon. While the store is down up to `backlog` wait; how many more there were becomes an entry. */
  put(facts: AuditFacts): void {
    if (this.#closed || this.#queue.length - this.#callers >= this.#parts.backlog) {
      this.#drop()
      return
    }
    this.#queue.push({ facts: fitted(facts) })
    const waitMs = this.#queue.length >= soonEntries ? 0 : gatherMs
    this.#start(this.#down === undefined ? waitMs : retryMs)
  }

  /** Resolves when all that waits is stored, or the store has failed. Never rejects. */
  async flush(): Promise<void> {
    while (this.#hasWork && (await this.#runOnce(true)));
  }

  /** Stores what waits and marks the chain as closed; what cannot be stored is written to the log. */
  async close(): Promise<void> {
    await this.flush()
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#running
    const { log, store } = this.#parts
    const left = this.state.waiting + this.#unkept.now
    for (const { caller } of this.#queue.splice(0)) caller?.reject(this.#refusal())
    if (left > 0)
      log.error(
        { entries: left },
        `${left === 1 ? 'an entry of the audit log is' : `${left} entries of the audit log are`} lost: the app is stopping and the database does not take them`,
      )
    else if (this.#chain !== undefined && this.#pending === undefined) {
      const closed = withHead(this.#parts.keys.current, this.#chain, { closed: true })
      await withDeadline(store.append([], closed), storeMs, 'the store does not respond').catch((error: unknown) =>
        log.warn({ err: error }, `the chain of the audit log stays open: ${messageOf(error)}`),
      )
    }
  }

  #start(afterMs: number): void {
    if (this.#running !== undefined || this.#closed) return
    if (afterMs === 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      // Entries of one turn of the event loop go together.
      setImmediate(() => void this.#runOnce())
      return
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#runOnce()
    }, afterMs).unref()
  }

  get #hasWork(): boolean {
    return this.#queue.length > 0 || this.#pending !== undefined
  }

  /** Whether to write at once: for callers, and full batches. Other entries wait for more, as a transaction costs the same for one and for many. */
  get #isDue(): boolean {
    return this.#callers > 0 || this.#pending !== undefined || this.#queue.length >= soonEntries
  }

  /** Writes a batch, and further ones that are due; false when the store failed. @param all until nothing waits. */
  async #runOnce(all = false): Promise<boolean> {
    this.#running ??= this.#writeBatches(all).finally(() => {
      this.#running = undefined
      if (this.#closed || !this.#hasWork) return
      this.#start(this.#down !== undefined ? retryMs : this.#isDue ? 0 : gatherMs)
    })
    await this.#running
    return this.#down === undefined
  }

  async #writeBatches(all: boolean): Promise<void> {
    for (let isFirst = true; this.#hasWork && (isFirst || all || this.#isDue); isFirst = false) {
      let batch: Batch | undefined
      try {
        batch = this.#pending ?? this.#nextBatch(await this.#openChain())
        this.#pending = batch
        await withDeadline(this.#parts.store.append(batch.entries, batch.chain), storeMs, `no response within ${storeMs} ms`)
      } catch (error) {
        this.#failed(error, batch)
        return
      }
      this.#stored(batch)
    }
  }

  /** The chain of this process, with a new number when it is full. */
  async #openChain(): Promise<Chain> {
    if (this.#chain !== undefined && this.#chain.entries + this.#parts.store.batchLimits.entries + 1 < perChain) return this.#chain
    this.#chain = await openChain({ ...this.#parts, storeMs })
    return this.#chain
  }

  #nextBatch(chain: Chain): Batch {
    const { clock, keys, store } = this.#parts
    const waiting = this.#queue.splice(0, batchLength(this.#queue, store.batchLimits))
    const { now: count, since } = this.#unkept
    if (count > 0) {
      this.#unkept = { since: 0, now: 0 }
      waiting.unshift(gapEntry({ count, since }, clock.now()))
    }
    return batchOf(waiting, chain, keys.current)
  }

  #stored({ chain, entries, waiting }: Batch): void {
    this.#pending = undefined
    this.#chain = chain
    this.#totals.written += entries.length
    waiting.forEach(({ caller }, index) => void caller?.resolve(entries[index]?.id ?? 0))
    if (this.#down === undefined) return
    const { log, onState } = this.#parts
    this.#down = undefined
    log.info({ waiting: this.#queue.length }, 'the audit log can be written again')
    onState(this.state)
  }

  /** Callers learn that their entries are not stored; the entries stay in the batch, whose fate is not known. */
  #failed(error: unknown, batch: Batch | undefined): void {
    const { clock, log, onState } = this.#parts
    const isNew = this.#down === undefined
    this.#down = { since: this.#down?.since ?? clock.now(), error: messageOf(error) }
    const refusal = this.#refusal()
    if (batch !== undefined) {
      for (const { caller } of batch.waiting) this.#refuse(caller, refusal)
      this.#pending = { ...batch, waiting: batch.waiting.map(({ facts }) => ({ facts })) }
    }
    // What nobody was promised, and was not tried, leaves no trace: its action is not done.
    for (const { caller } of this.#queue) this.#refuse(caller, refusal)
    const kept = this.#queue.filter(({ caller }) => caller === undefined)
    this.#queue.splice(0, this.#queue.length, ...kept)
    if (!isNew) return
    log.error({ err: error }, `the audit log cannot be written, so management actions are refused: ${messageOf(error)}`)
    onState(this.state)
  }

  #refuse(caller: Waiting['caller'], refusal: Error): void {
    if (caller === undefined) return
    this.#totals.refused += 1
    caller.reject(refusal)
  }

  #drop(): void {
    const { clock, log } = this.#parts
    if (this.#unkept.now === 0) {
      this.#unkept = { since: clock.now(), now: 0 }
      log.error('the backlog of the audit log is full: further job outcomes are only counted')
    }
    this.#unkept.now += 1
    this.#totals.unkept += 1
  }

  /** While the store is down, callers are refused at once until the next attempt. */
  #isResting(): boolean {
    return this.#down !== undefined && this.#running === undefined && this.#timer !== undefined
  }

  #refusal(): Error {
    return new Error(this.#down?.error ?? (this.#closed ? 'the app is stopping' : 'too many actions wait for it'))
  }
}
