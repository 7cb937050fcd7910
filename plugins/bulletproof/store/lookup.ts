import type { Kv } from 'zin/plugins/kv'
import type { Pending } from '../pending.js'

/** A read whose kv keys, if it has any, can be fetched together with those of other reads. */
export interface Lookup<T> {
  readonly keys: readonly string[]
  /** @param values of {@link keys}, in their order. */
  read(values: readonly (string | null)[]): Pending<T>
}

/** A lookup that needs nothing from the kv. */
export function ownLookup<T>(read: () => Pending<T>): Lookup<T> {
  return { keys: [], read }
}

/** Runs lookups at the same time, with one round trip to the kv for all of them, and none when none has a key. */
export function readTogether<L extends readonly Lookup<unknown>[]>(
  kv: Pick<Kv, 'getMany'> | undefined,
  ...lookups: L
): Pending<{ [I in keyof L]: L[I] extends Lookup<infer T> ? T : never }> {
  const keys = lookups.flatMap((lookup) => lookup.keys)
  if (keys.length > 0 && kv === undefined) throw new Error('the kv store is gone')
  const values = keys.length > 0 && kv !== undefined ? kv.getMany(keys) : undefined
  let next = 0
  const reads = lookups.map((lookup) => {
    const from = next
    next += lookup.keys.length
    if (lookup.keys.length === 0 || values === undefined) return lookup.read([])
    return values.then((all) => lookup.read(all.slice(from, from + lookup.keys.length)))
  })
  // biome-ignore lint/suspicious/noExplicitAny: a tuple built by position
  return (reads.some((read) => read instanceof Promise) ? Promise.all(reads) : reads) as any
}

/** One lookup on its own. */
export async function readOne<T>(kv: Pick<Kv, 'getMany'> | undefined, lookup: Lookup<T>): Promise<T> {
  const [value] = await readTogether(kv, lookup)
  return value as T
}
