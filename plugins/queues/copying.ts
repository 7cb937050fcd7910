import type { Queues } from './contract.js'
import { erased } from './deletion/contract.js'
import { scheduleMark } from './purge.js'

export interface CopyingParts {
  readonly isErased: Queues['isErased']
  /** The time by the clock of the store, in ms since 1970. */
  readonly storeTime: () => Promise<number>
}

/** Returns the one gate for copies of stored jobs and schedules: what was purged since it was read is not stored again. */
export function copying({ isErased, storeTime }: CopyingParts): Queues['copy'] {
  return async (source, write, undo) => {
    let isGone: () => Promise<boolean>
    if ('id' in source) {
      isGone = () => isErased(source.queue, source.id, source.addedAt)
      if (await isGone()) return undefined
    } else {
      // The time is that of the store, so no other clock needs leeway: a schedule that was ended before may exist again.
      const since = (await storeTime()) + erased.leewayMs
      isGone = () => isErased(source.queue, scheduleMark(source.schedule), since)
    }
    const made = await write()
    // A purge that comes after this finds the copy.
    if (!(await isGone())) return made
    await undo(made)
    return undefined
  }
}
