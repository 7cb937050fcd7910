import type { Deletion } from './contract.js'

export interface DeletionParts {
  /** Of the store, once it is open. */
  readonly store: () => Deletion
  /** Runs a command on the store. */
  readonly ask: <T>(command: () => Promise<T>) => Promise<T>
  /** Throws for a name that no queue can have. */
  readonly checkName: (queue: string) => void
}

/** The deletion of the store; each of its steps is a command of its own. */
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
    undoRoom: (queue) => ask(() => store().undoRoom(queue)),
    deletedJobs: (queue, page) => ask(() => store().deletedJobs(queue, page)),
    deletedJob: (queue, id) => ask(() => store().deletedJob(queue, id)),
  }
}
