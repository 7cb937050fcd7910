import { type Kv, updateKey } from 'zin/plugins/kv'
import type { Acknowledgement, Tracked } from './item.js'

/** An acknowledgement of one episode of an item. */
interface Stored extends Acknowledgement {
  /** When the episode was first seen, in ms since 1970. */
  readonly firstAt: number
}

export type Acknowledgements = Readonly<Record<string, Stored>>

export const acknowledgementsKey = 'monitor:attention:acknowledged'

export function parseAcknowledgements(text: string | null): Acknowledgements {
  return text === null ? {} : (JSON.parse(text) as Acknowledgements)
}

/** The acknowledgement of an item, unless its cause has gone since. */
export function acknowledgementOf(all: Acknowledgements, { firstAt, id }: Tracked): Acknowledgement | undefined {
  const found = Object.hasOwn(all, id) ? all[id] : undefined
  if (found === undefined || found.firstAt !== firstAt) return undefined
  const { at, by, note } = found
  return { note, by, at }
}

/** Stores an acknowledgement, and forgets those of items whose cause has gone. */
export async function storeAcknowledgement(kv: Kv, item: Tracked, one: Acknowledgement, listed: readonly Tracked[]): Promise<void> {
  const current = new Map(listed.map(({ firstAt, id }) => [id, firstAt]))
  await updateKey(kv, acknowledgementsKey, (text) => {
    const kept = Object.entries(parseAcknowledgements(text)).filter(([id, { firstAt }]) => current.get(id) === firstAt)
    return { value: JSON.stringify({ ...Object.fromEntries(kept), [item.id]: { ...one, firstAt: item.firstAt } }) }
  })
}
