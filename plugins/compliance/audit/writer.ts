import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { KeyRing } from '../keys.js'
import { type Batch, batchLength, batchOf, gapEntry, type Waiting } from './batch.js'
import { type Chain, withHead } from './chain.js'
import { type AuditEntry, type AuditFacts, fitted, perChain } from './entry.js'
import { openChain } from './open-chain.js'
import type { AuditStore } from './store/contract.js'

export interface WriterParts {
  readonly store: AuditStore
  readonly keys: KeyRing
  readonly node: string
  readonly clock: Clock
  readonly log: Logger
  /** Maximum number of buffered entries without a waiting caller, see {@link AuditWriter.put}. */
  readonly backlog: number
  /** Called when the log becomes unwritable, and when it is writable again. */
  readonly onState: (state: WriterState) => void
  /** Called with the chain of this process, and its new entries, after each write. */
  readonly onSeal?: (chain: Chain, entries: readonly AuditEntry[]) => void
}

/** The current state of the writer. */
export interface WriterState {
  /** Since when the log has been unwritable, in ms since 1970; undefined if it is writable. */
  readonly downSince: number | undefined
  /** Number of buffered entries. */
  readonly waiting: number
  /** Number of entries lost since the last written one; the number will be recorded. */
  readonly unkept: number
  readonly error?: string
}

/** Totals of this process. */
export interface WriterTotals {
  readonly written: number
  readonly unkept: number
  /** Callers whose entry could not be written. */
  readonly refused: number
}

/** How long entries without a caller wait to be batched, in ms. */
const gatherMs = 250
/** Deadline of the store, in ms; below the deadline of a gate hook. */
const storeMs = 3_000
/** Interval between attempts while the store is down, in ms. */
const retryMs = 1_000
/** Maximum number of waiting callers. */
const mostCallers = 2_000
/** Number of buffered entries that triggers an immediate write. */
const soonEntries = 500

/** Writes the chain of this process in batches, one at a time, in the order of the entries. */
export class AuditWriter {
  readonly #parts: WriterParts
  readonly #queue: Waiting[] = []
  /** A batch whose write failed with an unknown result; it is written again unchanged. */
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

  /** The chain as last written by this process; undefined before its first entry. */
  get chain(): Chain | undefined {
    return this.#chain
  }

  /** Resolves with the id once the entry is stored. Rejects if it cannot be stored; immediately while the store is known to be down. */
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

  /** Writes the entry soon. While the store is down, up to `backlog` entries are buffered; the number of further ones is recorded. */
  put(facts: AuditFacts): void {
    if (this.#closed || this.#queue.length - this.#callers >= this.#parts.backlog) {
      this.#drop()
      return
    }
    this.#queue.push({ facts: fitted(facts) })
    const waitMs = this.#queue.length >= soonEntries ? 0 : gatherMs
    this.#start(this.#down === undefined ? waitMs : retryMs)
  }

  /** Resolves when all buffered entries are stored, or the store has failed. Never rejects. */
  async flush(): Promise<void> {
    while (this.#hasWork && (await this.#runOnce(true)));
  }

  /**
   * Checks the store while nothing is to be written, so that an outage does not begin, and end, with the next entry only. Never rejects.
   */
  async check(): Promise<void> {
    if (this.#closed || this.#running !== undefined || this.#hasWork) return
    const { store } = this.#parts
    const chain = this.#chain
    const ask = async (): Promise<void> => {
      await store.list({}, { offset: 0, limit: 1 })
      // The stored head again, which changes nothing.
      if (chain !== undefined) await store.append([], chain)
    }
    try {
      await withDeadline(ask(), storeMs, `no response within ${storeMs} ms`)
      if (this.#running === undefined) this.#recovered()
    } catch (error) {
      if (this.#running === undefined) this.#failed(error, undefined)
    }
  }

  /** Stores the buffered entries and marks the chain as closed. The number of entries that cannot be stored is written to the app log. */
  async close(): Promise<void> {
    await this.flush()
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#running
    const { log, onSeal, store } = this.#parts
    const left = this.state.waiting + this.#unkept.now
    for (const { caller } of this.#queue.splice(0)) caller?.reject(this.#refusal())
    if (left > 0)
      log.error(
        { entries: left },
        `${left === 1 ? '1 audit log entry was' : `${left} audit log entries were`} lost: the app is stopping and the database is unavailable`,
      )
    else if (this.#chain !== undefined && this.#pending === undefined) {
      const closed = withHead(this.#parts.keys.current, this.#chain, { closed: true })
      await withDeadline(store.append([], closed), storeMs, `no response within ${storeMs} ms`).then(
        () => onSeal?.(closed, []),
        (error: unknown) => log.warn({ err: error }, `the chain of the audit log could not be closed: ${messageOf(error)}`),
      )
    }
  }

  #start(afterMs: number): void {
    if (this.#running !== undefined || this.#closed) return
    if (afterMs === 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      // Batches the entries of one turn of the event loop.
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

  /** Whether to write immediately: for callers and full batches. Other entries are batched, as one transaction costs the same for many. */
  get #isDue(): boolean {
    return this.#callers > 0 || this.#pending !== undefined || this.#queue.length >= soonEntries
  }

  /** Writes a batch, and further ones that are due; returns false if the store failed. @param all Whether to write all buffered entries. */
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

  /** Returns the chain of this process; opens a new one if it is full. */
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
    this.#parts.onSeal?.(chain, entries)
    waiting.forEach(({ caller }, index) => void caller?.resolve(entries[index]?.id ?? 0))
    this.#recovered()
  }

  #recovered(): void {
    if (this.#down === undefined) return
    const { log, onState } = this.#parts
    this.#down = undefined
    log.info({ waiting: this.#queue.length }, 'the audit log can be written again')
    onState(this.state)
  }

  /** Rejects the callers. Their entries stay in the batch, because it may have been stored. */
  #failed(error: unknown, batch: Batch | undefined): void {
    const { clock, log, onState } = this.#parts
    const isNew = this.#down === undefined
    this.#down = { since: this.#down?.since ?? clock.now(), error: messageOf(error) }
    const refusal = this.#refusal()
    if (batch !== undefined) {
      for (const { caller } of batch.waiting) this.#refuse(caller, refusal)
      this.#pending = { ...batch, waiting: batch.waiting.map(({ facts }) => ({ facts })) }
    }
    // Entries of callers that were not part of the batch are dropped, because their actions are refused.
    for (const { caller } of this.#queue) this.#refuse(caller, refusal)
    const kept = this.#queue.filter(({ caller }) => caller === undefined)
    this.#queue.splice(0, this.#queue.length, ...kept)
    if (!isNew) return
    log.error({ err: error }, `the audit log cannot be written; management actions are refused: ${messageOf(error)}`)
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
      log.error('the audit log backlog is full: further job outcomes are only counted')
    }
    this.#unkept.now += 1
    this.#totals.unkept += 1
  }

  /** While the store is down, callers are refused immediately until the next attempt. */
  #isResting(): boolean {
    return this.#down !== undefined && this.#running === undefined && this.#timer !== undefined
  }

  #refusal(): Error {
    return new Error(this.#down?.error ?? (this.#closed ? 'the app is stopping' : 'too many actions are waiting'))
  }
}
