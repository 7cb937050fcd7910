import { WireError } from 'zin/plugins/sql-wire'

/** A resource kept in a pool. */
export interface Pooled {
  readonly broken: boolean
  discard(): void
}

export interface PoolOptions<T extends Pooled> {
  readonly open: () => Promise<T>
  /** Maximum number of open connections. */
  readonly limit: number
  /** Maximum number of waiting callers. */
  readonly queue: number
  /** Longest wait, in ms. */
  readonly waitMs: number
}

interface Waiting<T> {
  readonly go: (item: T | Promise<T>) => void
  readonly fail: (error: Error) => void
  /** Deadline by `performance.now`, in ms. */
  readonly until: number
}

/** Lends each connection to one caller at a time. Callers that wait too long, or exceed the queue, get POOL_EXHAUSTED. */
export class Pool<T extends Pooled> {
  readonly #options: PoolOptions<T>
  readonly #idle: T[] = []
  readonly #open = new Set<T>()
  readonly #waiting: Waiting<T>[] = []
  #timer: NodeJS.Timeout | undefined
  #taken = 0
  /** Minimum number of idle connections since the last trim. */
  #least = 0
  #closed = false

  constructor(options: PoolOptions<T>) {
    this.#options = options
  }

  /** Returns the most recently used idle connection, or opens one, or waits. The caller must {@link release} it. */
  acquire(): T | Promise<T> {
    if (this.#closed) return Promise.reject(shuttingDown())
    if (this.#taken >= this.#options.limit) return this.#wait()
    this.#taken++
    return this.#takeIdle() ?? this.#openOne()
  }

  /** Returns a connection to the pool, or hands it to the first waiting caller. A broken one is dropped. */
  release(item: T): void {
    const lost = item.broken || this.#closed
    if (lost) this.#drop(item)
    const next = this.#waiting.shift()
    if (next !== undefined) next.go(lost ? (this.#takeIdle() ?? this.#openOne()) : item)
    else {
      this.#taken--
      if (!lost) this.#idle.push(item)
    }
  }

  /** Closes connections that were idle since the last call; keeps at least one. */
  trim(): void {
    const unused = Math.min(this.#least, this.#idle.length - 1)
    for (const idle of this.#idle.splice(0, Math.max(0, unused))) this.#drop(idle)
    this.#least = this.#idle.length
  }

  /** Closes all connections, including those in use. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const { fail } of this.#waiting.splice(0)) fail(shuttingDown())
    for (const item of [...this.#open]) this.#drop(item)
    this.#idle.length = 0
  }

  #takeIdle(): T | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      this.#least = Math.min(this.#least, this.#idle.length)
      if (!idle.broken) return idle
      this.#open.delete(idle)
    }
    return undefined
  }

  async #openOne(): Promise<T> {
    try {
      const opened = await this.#options.open()
      this.#open.add(opened)
      if (!this.#closed) return opened
      this.#drop(opened)
      throw shuttingDown()
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  #drop(item: T): void {
    this.#open.delete(item)
    item.discard()
  }

  /** Passes a place without a connection to the first waiting caller. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#taken--
    else next.go(this.#takeIdle() ?? this.#openOne())
  }

  #wait(): Promise<T> {
    const { queue, waitMs } = this.#options
    if (this.#waiting.length >= queue) return Promise.reject(this.#exhausted())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ go: resolve, fail: reject, until: performance.now() + waitMs })
      this.#timer ??= setTimeout(this.#onTimer, waitMs)
    })
  }

  /** All callers wait equally long, so a single timer, set for the first one, is enough. */
  readonly #onTimer = (): void => {
    this.#timer = undefined
    // Timers may fire a little early.
    const now = performance.now() + 1
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      if (first.until > now) {
        this.#timer = setTimeout(this.#onTimer, first.until - now + 1)
        return
      }
      this.#waiting.shift()
      first.fail(this.#exhausted())
    }
  }

  #exhausted(): WireError {
    return new WireError('POOL_EXHAUSTED', `All ${this.#options.limit} connections to the database are in use`)
  }
}

function shuttingDown(): WireError {
  return new WireError('SHUTTING_DOWN', 'The proxy is shutting down')
}
