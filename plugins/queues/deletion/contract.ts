/** Lets deleted jobs be restored for a time. */
export interface UndoOptions {
  /** Names the jobs that are restored together, such as the id of an operation: 1 to 60 letters, digits and `-`. */
  readonly batch: string
  /** For how long, ms. */
  readonly ms: number
}

/** Which jobs are deleted. */
export interface DeleteRange {
  readonly state: 'waiting' | 'delayed' | 'completed' | 'failed'
  /** ms since 1970: jobs that ended before; those that have not, were added before. */
  readonly before: number
  /** Jobs that made at most so many attempts. Default: any number. */
  readonly maxAttempts?: number
}

/** What one step of `deleteJobs` has done. */
export interface DeletedStep {
  readonly looked: number
  readonly deleted: number
  /** Deleted ones that can be restored. */
  readonly restorable: number
  /**
   * Jobs of the range that were left, because other things depend on them: their parent waits for them, they wait for children, or they are
   * the next job of a schedule.
   */
  readonly tied: number
}

/**
 * What became of a job that was to be deleted. `restorable`: deleted for a time. `final`: deleted, and the store of deleted jobs has no room.
 * `tied`: left, as in `DeletedStep`. `changed`: left, because it is running, has changed its state or does not exist.
 */
export type DeleteOutcome = 'restorable' | 'final' | 'tied' | 'changed'

/** What one step of `restoreJobs` has done. */
export interface RestoredStep {
  readonly restored: number
  /** Jobs that were left, because another job has taken their id or their deduplication id. */
  readonly blocked: number
}

/** How much a queue can still keep of deleted jobs. */
export interface UndoRoom {
  readonly jobs: number
  readonly bytes: number
}

/** A deleted job that can still be restored; its data are in stored form. */
export interface DeletedJob {
  readonly id: string
  readonly queueName: string
  readonly data: unknown
  readonly opts: Readonly<Record<string, unknown>>
  /** When it was added, ms since 1970. */
  readonly timestamp: number
}

/** All that is kept of a deleted job; values and texts are in stored form. */
export interface DeletedJobDetails extends DeletedJob {
  readonly name: string
  readonly result: unknown
  readonly progress: unknown
  readonly error: string | null
  /** Oldest first. */
  readonly logs: readonly string[]
  /** ms since 1970; null: it had not ended. */
  readonly finishedAt: number | null
}

/** Deletes jobs in short steps, and restores them for a time; see `Queues`. */
export interface Deletion {
  deleteJob(queue: string, id: string, undo: UndoOptions): Promise<DeleteOutcome>
  deleteJobs(queue: string, range: DeleteRange, undo?: UndoOptions): AsyncIterable<DeletedStep>
  restoreJobs(queue: string, batch: string): AsyncIterable<RestoredStep>
  undoRoom(queue: string): Promise<UndoRoom>
  /** In the order of their deletion. */
  deletedJobs(queue: string, page: { readonly offset: number; readonly limit: number }): Promise<readonly DeletedJob[]>
  /** Undefined: it does not exist, or its time is up. */
  deletedJob(queue: string, id: string): Promise<DeletedJobDetails | undefined>
}

/** The part of a backend that deletes and restores jobs. */
export interface DeletionBackend extends Deletion {
  /** Deletes deleted jobs for good; the ids of those that existed. */
  forget(queue: string, ids: readonly string[]): Promise<readonly string[]>
  /** Deletes what can no longer be restored, where the store does not do it by itself. */
  expire(): Promise<void>
}

/** Most that a queue keeps of deleted jobs. What is deleted beyond is final. */
export const mostDeleted: UndoRoom = { jobs: 20_000, bytes: 64 * 1024 * 1024 }

/** Jobs of one step: about 2 ms of Redis. */
export const stepJobs = 100
