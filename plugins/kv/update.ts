import type { Kv } from './contract.js'
import { kvErrors } from './errors.js'

/** What a change writes to a key. */
export interface NextValue {
  readonly value: string
  /** Time to live in ms; without it the key does not expire. */
  readonly ttlMs?: number
}

/** A change that was written. */
export interface UpdatedKey {
  /** Null: the key was absent. */
  readonly before: string | null
  readonly after: string
}

const maxAttempts = 100

/**
 * Changes a key by compare-and-set: reads it, and writes what `change` returns, unless another write came first; then again with the
 * newer value, up to 100 times. Two round trips when nobody else writes the key.
 *
 * ```ts
 * await updateKey(kv, 'visits', (text) => ({ value: JSON.stringify([...JSON.parse(text ?? '[]'), Date.now()]) }))
 * ```
 *
 * @param change receives the value, or null when the key is absent, and may be called several times. It returns undefined to write nothing.
 * @returns undefined when nothing was written. Rejects with `KV_CONTENDED` when other writes kept coming first.
 */
export async function updateKey(
  kv: Pick<Kv, 'get' | 'set'>,
  key: string,
  change: (value: string | null) => NextValue | undefined | Promise<NextValue | undefined>,
): Promise<UpdatedKey | undefined> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const before = await kv.get(key)
    const next = await change(before)
    if (next === undefined) return undefined
    const { value: after, ...life } = next
    if (await kv.set(key, after, { ...life, ...(before === null ? { ifAbsent: true } : { ifValue: before }) })) return { before, after }
  }
  throw kvErrors.KV_CONTENDED(key)
}
