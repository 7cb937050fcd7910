import type { Kv } from 'zin/plugins/kv'

/** A read whose kv keys, if it has any, can be fetched together with those of other reads. */
export interface Lookup<T> {
  readonly keys: readonly string[]
  /** @param values of {@link keys}, in their order. */
  read(values: readonly (string | null)[]): T | Promise<T>
}

/** A lookup that needs nothing from the kv. */
export function ownLookup<T>(read: () => T | Promise<T>): Lookup<T> {
  return { keys: [], read }
}

/** Runs lookups at the same time, with one round trip to the kv for all of them. */
export async function readTogether<L extends readonly Lookup<unknown>[]>(
  kv: Pick<Kv, 'getMany'> | undefined,
  ...lookups: L
): Promise<{ [I in keyof L]: L[I] extends Lookup<infer T> ? T : never }> {
  const keys = lookups.flatMap((lookup) => lookup.keys)
  if (keys.length > 0 && kv === undefined) throw new Error('the kv store is gone')
  const values = keys.length > 0 && kv !== undefined ? kv.getMany(keys) : Promise.resolve([])
  let next = 0
  const reads = lookups.map((lookup) => {
    const from = next
    next += lookup.keys.length
    return lookup.keys.length === 0 ? lookup.read([]) : values.then((all) => lookup.read(all.slice(from, from + lookup.keys.length)))
  })
  // biome-ignore lint/suspicious/noExplicitAny: a tuple built by position
  return (await Promise.all(reads)) as any
}

/** One lookup on its own. */
export async function readOne<T>(kv: Pick<Kv, 'getMany'> | undefined, lookup: Lookup<T>): Promise<T> {
  const [value] = await readTogether(kv, lookup)
  return value as T
}
