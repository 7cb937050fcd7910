import type { Kv } from './contract.js'
import { updateKey } from './update.js'

/**
 * The members of a collection, kept in one key of a store that has no lists: a name by id. An id is never used twice, so that a
 * removal takes out what it means and nothing added since.
 *
 * Add a member before its record is written and remove it afterwards: a record is then never missing from the index. A member without
 * a record, or with one of another id, is to be ignored.
 */
export class KeyIndex {
  readonly key: string
  readonly #kv: () => Pick<Kv, 'get' | 'set'>
  #last: Promise<unknown> = Promise.resolve()

  /** @param kv the store, as of now. */
  constructor(kv: () => Pick<Kv, 'get' | 'set'>, key: string) {
    this.#kv = kv
    this.key = key
  }

  /** The members in the value of {@link key}, in the order in which they were added. */
  read(value: string | null | undefined): ReadonlyMap<string, string> {
    return new Map(value ? (JSON.parse(value) as [string, string][]) : [])
  }

  add(id: string, name: string): Promise<void> {
    return this.#change((members) => [...members, [id, name]])
  }

  remove(id: string): Promise<void> {
    return this.#change((members) => members.filter(([member]) => member !== id))
  }

  /** One change at a time in this process: only other processes compete. */
  #change(change: (members: readonly [string, string][]) => readonly [string, string][]): Promise<void> {
    const done = this.#last.then(async () => {
      await updateKey(this.#kv(), this.key, (value) => ({ value: JSON.stringify(change([...this.read(value)])) }))
    })
    this.#last = done.catch(() => undefined)
    return done
  }
}
