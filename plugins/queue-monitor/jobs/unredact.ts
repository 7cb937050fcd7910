import { isDeepStrictEqual } from 'node:util'
import { replacement } from 'zin/plugins/queues'
import { monitorErrors } from '../errors.js'

/** The data of a job: as the editor saw it, with placeholders, and as it is stored. */
export interface Redaction {
  readonly shown: unknown
  readonly original: unknown
}

/**
 * Restores redacted values in edited data: each placeholder that was shown is replaced by the original value at the same path. Throws
 * REDACTED_VALUE_MOVED for a placeholder that stands for no value at its path, and for one in a list that changed its length or order:
 * there, it could stand for the value of another item. Pure.
 */
export function unredact(edited: unknown, { shown, original }: Redaction, path = 'data'): unknown {
  if (edited === replacement) {
    if (shown !== replacement) throw monitorErrors.REDACTED_VALUE_MOVED(path, 'no value was redacted there')
    return original
  }
  if (!hasPlaceholder(edited)) return edited
  if (Array.isArray(edited)) {
    const [before, stored] = [listOf(shown), listOf(original)]
    const moved = edited.length !== before.length || edited.length !== stored.length
    // With or without placeholders: an item that was dropped changes the one in its place, and all after it.
    const changed = edited.filter((item, i) => !isDeepStrictEqual(item, before[i]))
    // If a single item differs, and is no copy of another one, it was edited: a different order changes two.
    const isCopy = changed.some((item) => before.some((other) => isDeepStrictEqual(item, other)))
    // Which of two items that look the same was dropped cannot be seen.
    const isAmbiguous =
      changed.length > 0 &&
      before.some((item, i) => hasPlaceholder(item) && before.slice(0, i).some((other) => isDeepStrictEqual(item, other)))
    if (moved || isCopy || isAmbiguous || changed.length > 1)
      throw monitorErrors.REDACTED_VALUE_MOVED(path, 'the list has changed its length or order')
    return edited.map((item, i) => unredact(item, { shown: before[i], original: stored[i] }, `${path}[${i}]`))
  }
  const [before, stored] = [fieldsOf(shown), fieldsOf(original)]
  return Object.fromEntries(
    Object.entries(edited as object).map(([key, value]) => [
      key,
      unredact(value, { shown: before.get(key), original: stored.get(key) }, `${path}.${key}`),
    ]),
  )
}

function hasPlaceholder(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === replacement
  return Object.values(value).some(hasPlaceholder)
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [])
}
