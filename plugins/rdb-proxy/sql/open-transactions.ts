import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type TxState, WireError } from 'zin/plugins/sql-wire'

export interface OpenTransaction {
  /** Rolls it back; called at most once, never rejects. */
  readonly rollback: () => Promise<void>
}

interface Entry<T> {
  readonly value: T
  readonly keyId: string
  readonly id: Buffer
  readonly expiresAt: number
  seq: number
  busy: boolean
  idle: NodeJS.Timeout | undefined
  readonly total: NodeJS.Timeout
}

export interface OpenTransactionsOptions {
  readonly idleMs: number
  readonly maxMs: number
  readonly most: number
  readonly now: () => number
}

const macBytes = 16
const rememberMs = 300_000

function expired(): WireError {
  return new WireError('TX_EXPIRED', 'The transaction expired and was rolled back; begin a new one', { details: { rolledBack: true } })
}

/**
 * Transactions that clients keep open across requests. A baton identifies one: its id, a use counter, and a MAC over both and the key id.
 * Each baton is valid once. Expired transactions are remembered for five minutes, so that the client gets TX_EXPIRED.
 */
export class OpenTransactions<T extends OpenTransaction> {
  readonly #options: OpenTransactionsOptions
  readonly #open = new Map<string, Entry<T>>()
  readonly #expired = new Map<string, number>()
  readonly #secret = randomBytes(32)
  readonly instance: string = randomBytes(4).toString('hex')

  constructor(options: OpenTransactionsOptions) {
    this.#options = options
  }

  /** Throws POOL_EXHAUSTED if too many transactions are open or beginning. */
  checkRoom(beginning: number): void {
    if (this.#open.size + beginning >= this.#options.most)
      throw new WireError('POOL_EXHAUSTED', `${this.#options.most} transactions are open already, which is the maximum`)
  }

  add(value: T, keyId: string): TxState {
    const { maxMs, now } = this.#options
    const id = randomBytes(12)
    const name = id.toString('hex')
    const total = setTimeout(() => void this.#expire(name), maxMs)
    const entry: Entry<T> = { value, keyId, id, expiresAt: now() + maxMs, seq: 0, busy: false, idle: undefined, total }
    this.#open.set(name, entry)
    return this.#rest(name, entry)
  }

  /**
   * Takes the transaction of a baton and uses the baton up. The caller calls `keep` for a new baton, or `end`. `keep` throws TX_EXPIRED if the
   * transaction expired meanwhile.
   */
  take(baton: string, keyId: string): { readonly value: T; keep(): TxState; end(): void } {
    const { name, seq } = this.#parse(baton, keyId)
    if (this.#expired.has(name)) throw expired()
    const entry = this.#open.get(name)
    if (entry === undefined || entry.seq !== seq || entry.busy)
      throw new WireError('TX_UNKNOWN', 'No open transaction has this baton; each baton is valid once')
    entry.busy = true
    clearTimeout(entry.idle)
    entry.seq++
    return {
      value: entry.value,
      keep: () => {
        if (this.#open.get(name) !== entry) throw expired()
        entry.busy = false
        return this.#rest(name, entry)
      },
      end: () => this.#remove(name, entry),
    }
  }

  /** Rolls back all open transactions. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((name) => this.#expire(name)))
  }

  #rest(name: string, entry: Entry<T>): TxState {
    const { idleMs } = this.#options
    clearTimeout(entry.idle)
    entry.idle = setTimeout(() => void this.#expire(name), idleMs)
    return { baton: this.#batonOf(entry), idleMs, expiresAt: entry.expiresAt, instance: this.instance }
  }

  async #expire(name: string): Promise<void> {
    const entry = this.#open.get(name)
    if (entry === undefined) return
    this.#remove(name, entry)
    const now = this.#options.now()
    for (const [old, until] of this.#expired) if (until < now) this.#expired.delete(old)
    this.#expired.set(name, now + rememberMs)
    await entry.value.rollback()
  }

  #remove(name: string, entry: Entry<T>): void {
    clearTimeout(entry.idle)
    clearTimeout(entry.total)
    this.#open.delete(name)
  }

  #batonOf({ id, seq, keyId }: Entry<T>): string {
    const head = Buffer.alloc(20)
    head.write(this.instance, 'hex')
    id.copy(head, 4)
    head.writeUInt32BE(seq, 16)
    return Buffer.concat([head, this.#mac(head, keyId)]).toString('base64url')
  }

  #parse(baton: string, keyId: string): { readonly name: string; readonly seq: number } {
    const bytes = Buffer.from(baton, 'base64url')
    if (bytes.length !== 20 + macBytes) throw new WireError('TX_UNKNOWN', 'No open transaction has this baton')
    const head = bytes.subarray(0, 20)
    const instance = head.subarray(0, 4).toString('hex')
    if (instance !== this.instance)
      throw new WireError('MISDIRECTED', 'Another process of the proxy holds this transaction', { details: { instance } })
    if (!timingSafeEqual(this.#mac(head, keyId), bytes.subarray(20)))
      throw new WireError('TX_UNKNOWN', 'No open transaction has this baton')
    return { name: head.subarray(4, 16).toString('hex'), seq: head.readUInt32BE(16) }
  }

  #mac(head: Buffer, keyId: string): Buffer {
    return createHmac('sha256', this.#secret).update(head).update(keyId).digest().subarray(0, macBytes)
  }
}
