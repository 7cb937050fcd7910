import { type Deletion, erased } from './deletion/contract.js'
import { scheduleMark } from './purge.js'

/** What a copy is made from: a job that was added at this time, in ms since 1970, or a schedule. */
export type CopySource =
  | { readonly queue: string; readonly id: string; readonly addedAt: number }
  | { readonly queue: string; readonly schedule: string }

/** Copies what is stored, and ends for good what they are made from. */
export interface Copying {
  /** Ends a schedule and removes its next job, so that no copy of it which is under way stays. Returns false if there was none. */
  purgeSchedule(queue: string, id: string): Promise<boolean>
  /**
   * Stores something that was read from a job or a schedule, such as a copy. If the source is purged meanwhile, `undo` removes it again, and
   * undefined is returned. `write` reads a schedule itself.
   *
   * @example
   * const { queues } = ctx.services
   * const { job } = (await queues.job('emails', '42')) ?? {}
   * if (job !== undefined) {
   *   const source = { queue: 'emails', id: '42', addedAt: job.timestamp }
   *   await queues.copy(source, () => queues.add('kept', job.name, job.data), ({ id = '' }) => queues.purge('kept', [id]))
   * }
   */
  copy<T>(source: CopySource, write: () => Promise<T>, undo: (made: T) => Promise<unknown>): Promise<T | undefined>
}

export interface CopyingParts {
  readonly isErased: Deletion['isErased']
  /** The time by the clock of the store, in ms since 1970. */
  readonly storeTime: () => Promise<number>
}

/** Returns the one gate for copies of stored jobs and schedules: what was purged since it was read is not stored again. */
export function copying({ isErased, storeTime }: CopyingParts): Copying['copy'] {
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
