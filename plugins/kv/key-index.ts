import type { Kv } from './contract.js'
import { updateKey } from './update.js'

/**
 * An index of the members of a collection: a map from id to name, stored in one key, because the store has no lists. Use each id only once,
 * so that a removal never affects a member added later.
 *
 * Add a member before its record is written, and remove it after its record is deleted: then a record is never missing from the index.
 * Ignore a member without a record, or whose record has another id.
 */
export class KeyIndex {
  readonly key: string
  readonly #kv: () => Pick<Kv, 'get' | 'set'>
  #last: Promise<unknown> = Promise.resolve()

  /** @param kv returns the current store. */
  constructor(kv: () => Pick<Kv, 'get' | 'set'>, key: string) {
    this.#kv = kv
    this.key = key
  }

  /** Parses the value of {@link key}. Returns names by id, in the order in which they were added. */
  read(value: string | null | undefined): ReadonlyMap<string, string> {
    return new Map(value ? (JSON.parse(value) as [string, string][]) : [])
  }

  add(id: string, name: string): Promise<void> {
    return this.#change((members) => [...members, [id, name]])
  }

  remove(id: string): Promise<void> {
    return this.#change((members) => members.filter(([member]) => member !== id))
  }

  /** Applies one change at a time in this process, so that only other processes compete. */
  #change(change: (members: readonly [string, string][]) => readonly [string, string][]): Promise<void> {
    const done = this.#last.then(async () => {
      await updateKey(this.#kv(), this.key, (value) => ({ value: JSON.stringify(change([...this.read(value)])) }))
    })
    this.#last = done.catch(() => undefined)
    return done
  }
}
