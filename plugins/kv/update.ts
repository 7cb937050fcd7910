import type { Kv } from './contract.js'
import { kvErrors } from './errors.js'

/** The new value of a key. */
export interface NextValue {
  readonly value: string
  /** Time to live in ms; without it the key does not expire. */
  readonly ttlMs?: number
}

/** A written change. */
export interface UpdatedKey {
  /** Null when the key was absent. */
  readonly before: string | null
  readonly after: string
}

const maxAttempts = 100

/**
 * Updates a key by compare-and-set: reads it and writes the value that `change` returns. When another write comes first, it retries with the
 * newer value, up to 100 attempts. Costs two round trips without contention.
 *
 * ```ts
 * await updateKey(kv, 'visits', (text) => ({ value: JSON.stringify([...JSON.parse(text ?? '[]'), Date.now()]) }))
 * ```
 *
 * @param change receives the value, or null when the key is absent, and may be called several times. Return undefined to write nothing.
 * @returns undefined when nothing was written. Rejects with `KV_CONTENDED` when other writes came first in every attempt.
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
