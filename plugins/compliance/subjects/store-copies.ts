import { randomUUID } from 'node:crypto'
import type { Kv } from 'zin/plugins/kv'
import type { Marks } from '../store/marks.js'

const mark = 'subjects.stores'
const key = 'compliance:subjects:stores'

/**
 * Detects that Redis or the tables were set back to a copy: then the index lacks jobs that Redis has. Both have the same random value, which
 * changes with each erasure and once an hour. Without Redis, the queue and the tables are in one folder, which is copied as a whole.
 */
export class StoreCopies {
  readonly #marks: Pick<Marks, 'get' | 'set'>
  readonly #kv: Pick<Kv, 'get' | 'set'> | undefined

  /** @param kv undefined: nothing is detected. */
  constructor(marks: Pick<Marks, 'get' | 'set'>, kv: Pick<Kv, 'driver' | 'get' | 'set'> | undefined) {
    this.#marks = marks
    this.#kv = kv?.driver === 'redis' ? kv : undefined
  }

  /** Whether both are of the same time. */
  async match(): Promise<boolean> {
    if (this.#kv === undefined) return true
    const [known, there] = await Promise.all([this.#marks.get(mark), this.#kv.get(key)])
    return (known ?? null) === there
  }

  /** Gives both a new value. Two processes that do so at once cause no more than a search that reads all queues. */
  async renew(): Promise<void> {
    if (this.#kv === undefined) return
    const value = randomUUID()
    await this.#marks.set(mark, value)
    await this.#kv.set(key, value)
  }

  /** Gives both a new value, unless one was set back and no search has read the queues since. */
  async keepUp(): Promise<void> {
    if (await this.match()) await this.renew()
  }
}
