import type { Chain } from '../chain.js'

/** A seal of a chain as another place keeps it. Contains no secrets and nothing of the entries but the last hash. */
export interface Checkpoint
  extends Pick<Chain, 'chain' | 'opening' | 'counter' | 'entries' | 'lastHash' | 'closed' | 'sealKeyId' | 'seal'> {
  /** Time of the newest entry, ms since 1970. Missing in older checkpoints, as is `fresh`. */
  readonly lastAt?: number
  /** The entries since the checkpoint before: those after number `after`, none older than `since`, to be kept for `days`. */
  readonly fresh?: { readonly after: number; readonly since: number; readonly days: number }
}

/** Maximum length of a checkpoint as text. */
export const mostText = 1_000

export function checkpointOf({ chain, closed, counter, entries, lastHash, opening, seal, sealKeyId }: Chain): Checkpoint {
  return { chain, opening, counter, entries, lastHash, closed, sealKeyId, seal }
}

/** Returns a later checkpoint for a place that did not get the earlier one. */
export function joined(earlier: Checkpoint | undefined, later: Checkpoint): Checkpoint {
  const [first, second] = [earlier?.fresh, later.fresh]
  if (first === undefined || earlier?.chain !== later.chain) return later
  if (second === undefined) return { ...later, fresh: first }
  const [after, since] = [Math.min(first.after, second.after), Math.min(first.since, second.since)]
  return { ...later, fresh: { after, since, days: Math.min(first.days, second.days) } }
}

/** Returns a checkpoint from JSON that may be malformed. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  if (text.length > mostText) return undefined
  let read: Readonly<Record<string, unknown>>
  try {
    read = Object(JSON.parse(text))
  } catch {
    return undefined
  }
  const { chain, closed, counter, entries, lastHash, opening, seal, sealKeyId } = read
  const numbers = [chain, counter, entries].every(isCount)
  const texts = [lastHash, opening, seal, sealKeyId].every((value) => typeof value === 'string' && /^[0-9a-f]{16,64}$/.test(value))
  if (!numbers || !texts || typeof closed !== 'boolean') return undefined
  const checkpoint = { chain, opening, counter, entries, lastHash, closed, sealKeyId, seal } as Checkpoint
  const { lastAt } = read
  const { after, days, since } = Object(read.fresh) as NonNullable<Checkpoint['fresh']>
  return {
    ...checkpoint,
    ...(isCount(lastAt) ? { lastAt } : {}),
    ...([after, days, since].every(isCount) ? { fresh: { after, since, days } } : {}),
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/**
 * Returns how a chain contradicts an earlier checkpoint of it, as a sentence without its subject, the chain. The hash of the last entry that
 * the checkpoint covers is compared by whoever reads the entries.
 *
 * @param ageOf position of a key: 0 for the current one, higher for earlier ones; undefined if it is not configured.
 */
export function contradiction(
  chain: Chain,
  earlier: Checkpoint,
  place: string,
  ageOf: (keyId: string) => number | undefined,
): string | undefined {
  const known = `${place} knows its seal ${earlier.counter}, over ${earlier.entries} entries`
  if (chain.opening !== earlier.opening) return `is not the chain of this number that ${place} knows: it was replaced`
  if (chain.counter < earlier.counter) return `was set back to its seal ${chain.counter}, over ${chain.entries} entries: ${known}`
  if (chain.counter === earlier.counter && chain.seal !== earlier.seal) return `has another seal ${chain.counter} than ${place} knows`
  if (chain.entries < earlier.entries) return `was shortened to ${chain.entries} entries: ${known}`
  if (earlier.entries > 0 && earlier.entries === chain.purged && earlier.lastHash !== chain.purgedHash)
    return `has another deleted start than ${place} knows: it was rewritten`
  if (earlier.closed && (!chain.closed || chain.entries > earlier.entries)) return `was continued after its end: ${known}`
  if ((ageOf(chain.sealKeyId) ?? 0) > (ageOf(earlier.sealKeyId) ?? 0))
    return `was sealed with the earlier key ${chain.sealKeyId} after the key ${earlier.sealKeyId} had replaced it: ${known}`
  return undefined
}
