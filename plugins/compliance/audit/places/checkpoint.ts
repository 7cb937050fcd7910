import type { Chain } from '../chain.js'

/** A seal of a chain as another place keeps it. Contains no secrets and nothing of the entries but the last hash. */
export type Checkpoint = Pick<Chain, 'chain' | 'opening' | 'counter' | 'entries' | 'lastHash' | 'closed' | 'sealKeyId' | 'seal'>

/** Maximum length of a checkpoint as text. */
export const mostText = 1_000

export function checkpointOf({ chain, closed, counter, entries, lastHash, opening, seal, sealKeyId }: Chain): Checkpoint {
  return { chain, opening, counter, entries, lastHash, closed, sealKeyId, seal }
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
  const numbers = [chain, counter, entries].every((value) => Number.isSafeInteger(value) && (value as number) >= 0)
  const texts = [lastHash, opening, seal, sealKeyId].every((value) => typeof value === 'string' && /^[0-9a-f]{16,64}$/.test(value))
  if (!numbers || !texts || typeof closed !== 'boolean') return undefined
  return { chain, opening, counter, entries, lastHash, closed, sealKeyId, seal } as Checkpoint
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
