import { WireError } from 'zin/plugins/sql-wire'

/** What a pool keeps. */
export interface Pooled {
  readonly broken: boolean
  discard(): void
}

export interface PoolOptions<T extends Pooled> {
  readonly open: () => Promise<T>
  /** Most that are open at the same time. */
  readonly limit: number
  /** Most callers that wait. */
  readonly queue: number
  /** How long they wait, in ms. */
  readonly waitMs: number
}

interface Waiting<T> {
  readonly go: (item: T | Promise<T>) => void
  readonly fail: (error: Error) => void
  /** By `performance.now`, in ms. */
  readonly until: number
}

/** Connections for one caller each. Whoever waits too long, or as one too many, gets POOL_EXHAUSTED. */
export class Pool<T extends Pooled> {
  readonly #options: PoolOptions<T>
  readonly #idle: T[] = []
  readonly #open = new Set<T>()
  readonly #waiting: Waiting<T>[] = []
  #timer: NodeJS.Timeout | undefined
  #taken = 0
  /** The fewest that were idle at a time since the last trim. */
  #least = 0
  #closed = false

  constructor(options: PoolOptions<T>) {
    this.#options = options
  }

  /** Free places, for those who must not take the last ones. */
  get free(): number {
    return this.#options.limit - this.#taken
  }

  get size(): number {
    return this.#open.size
  }

  /** The one that was used last, at once when one is idle, or a new one. The caller must {@link release} it. */
  acquire(): T | Promise<T> {
    if (this.#closed) return Promise.reject(shuttingDown())
    if (this.#taken >= this.#options.limit) return this.#wait()
    this.#taken++
    return this.#takeIdle() ?? this.#openOne()
  }

  /** Gives it back, to the first who waits; a broken one is dropped. */
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

  /** Closes those that nobody needed since the last call; one stays. */
  trim(): void {
    const unused = Math.min(this.#least, this.#idle.length - 1)
    for (const idle of this.#idle.splice(0, Math.max(0, unused))) this.#drop(idle)
    this.#least = this.#idle.length
  }

  /** Closes all of them, those in use too. */
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

  /** A place without a connection passes to the first who waits. */
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

  /** All wait equally long, so one timer serves them: it is set for the first. */
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
