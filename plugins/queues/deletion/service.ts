import type { Deletion } from './contract.js'

export interface DeletionParts {
  /** Returns the deletion of the open store. */
  readonly store: () => Deletion
  /** Runs a command on the store. */
  readonly ask: <T>(command: () => Promise<T>) => Promise<T>
  /** Throws for an invalid queue name. */
  readonly checkName: (queue: string) => void
}

/** Wraps the deletion of the store; each step is a separate command with a deadline. */
export function createDeletion({ ask, checkName, store }: DeletionParts): Deletion {
  async function* steps<T>(queue: string, begin: () => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    checkName(queue)
    const iterator = begin()[Symbol.asyncIterator]()
    while (true) {
      const { done, value } = await ask(() => iterator.next())
      if (done === true) return
      yield value
    }
  }
  return {
    deleteJob: (queue, id, undo) => ask(() => store().deleteJob(queue, id, undo)),
    deleteJobs: (queue, range, undo) => steps(queue, () => store().deleteJobs(queue, range, undo)),
    restoreJobs: (queue, batch) => steps(queue, () => store().restoreJobs(queue, batch)),
    countJobs: (queue, range, room, options) => steps(queue, () => store().countJobs(queue, range, room, options)),
    undoRoom: (queue) => ask(() => store().undoRoom(queue)),
    deletedJobs: (queue, page) => ask(() => store().deletedJobs(queue, page)),
    deletedJob: (queue, id) => ask(() => store().deletedJob(queue, id)),
    isErased: (queue, id, addedAt) => ask(() => store().isErased(queue, id, addedAt)),
  }
}
