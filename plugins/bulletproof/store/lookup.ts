import type { Kv } from 'zin/plugins/kv'
import type { Pending } from '../pending.js'

/** A read whose kv keys, if any, can be fetched together with those of other reads. */
export interface Lookup<T> {
  readonly keys: readonly string[]
  /** @param values of {@link keys}, in their order. */
  read(values: readonly (string | null)[]): Pending<T>
}

/** Creates a lookup without kv keys. */
export function ownLookup<T>(read: () => Pending<T>): Lookup<T> {
  return { keys: [], read }
}

/** Runs lookups concurrently, with a single round trip to the kv, or none when no lookup has keys. */
export function readTogether<L extends readonly Lookup<unknown>[]>(
  kv: Pick<Kv, 'getMany'> | undefined,
  ...lookups: L
): Pending<{ [I in keyof L]: L[I] extends Lookup<infer T> ? T : never }> {
  // biome-ignore lint/suspicious/noExplicitAny: a tuple built by position
  return readAll(kv, lookups) as any
}

function readAll(kv: Pick<Kv, 'getMany'> | undefined, lookups: readonly Lookup<unknown>[]): Pending<readonly unknown[]> {
  // With stores in memory, no lookup has keys.
  if (lookups.every(({ keys }) => keys.length === 0)) return together(lookups.map((lookup) => lookup.read([])))
  const keys = lookups.flatMap((lookup) => lookup.keys)
  if (kv === undefined) throw new Error('the plugin kv is disabled')
  const fetched = kv.getMany(keys)
  const own = together(lookups.map((lookup) => (lookup.keys.length === 0 ? lookup.read([]) : undefined)))
  const withValues = (values: readonly (string | null)[], results: readonly unknown[]): Pending<readonly unknown[]> => {
    let next = 0
    return together(
      lookups.map((lookup, index) => {
        const from = next
        next += lookup.keys.length
        return from === next ? results[index] : lookup.read(values.slice(from, next))
      }),
    )
  }
  // Awaited together, so that a rejection of either is always handled.
  if (own instanceof Promise) return Promise.all([fetched, own]).then(([values, results]) => withValues(values, results))
  return fetched.then((values) => withValues(values, own))
}

function together(reads: readonly Pending<unknown>[]): Pending<readonly unknown[]> {
  return reads.some((read) => read instanceof Promise) ? Promise.all(reads) : reads
}

/** Runs a single lookup. */
export async function readOne<T>(kv: Pick<Kv, 'getMany'> | undefined, lookup: Lookup<T>): Promise<T> {
  const [value] = await readTogether(kv, lookup)
  return value as T
}
