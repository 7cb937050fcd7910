/** Makes deleted jobs restorable for a limited time. */
export interface UndoOptions {
  /** Name of the jobs that are restored together, such as the id of an operation: 1 to 60 letters, digits and `-`. */
  readonly batch: string
  /** For how long, in ms. */
  readonly ms: number
}

/** Which jobs are deleted. */
export interface DeleteRange {
  readonly state: 'waiting' | 'delayed' | 'waiting-children' | 'completed' | 'failed'
  /** Jobs that ended before this time, or were added before it if they have not ended; ms since 1970. */
  readonly before: number
  /** Only jobs with at most this many attempts. Default: any number. */
  readonly maxAttempts?: number
  /** True: not jobs that will fail when a worker takes them, such as the parent of a child that was deleted. Default false; not for counts. */
  readonly exceptFailing?: boolean
}

/** The outcome of one step of `deleteJobs`. */
export interface DeletedStep {
  /** Jobs that were examined. */
  readonly looked: number
  readonly deleted: number
  /** How many of the deleted jobs can be restored. */
  readonly restorable: number
  /**
   * Jobs of the range that were not deleted because their parent waits for them, they wait for children, or they are the next job of a
   * schedule.
   */
  readonly tied: number
}

/**
 * The outcome of deleting a job. `restorable`: deleted, and can be restored. `final`: deleted permanently, because the store of deleted jobs
 * has no room. `tied`: not deleted, as in `DeletedStep`. `changed`: not deleted, because it is running, has changed its state or does not
 * exist.
 */
export type DeleteOutcome = 'restorable' | 'final' | 'tied' | 'changed'

/** The outcome of one step of `restoreJobs`. */
export interface RestoredStep {
  readonly restored: number
  /** Jobs that were not restored because another job has taken their id or deduplication id. */
  readonly blocked: number
}

export interface CountOptions {
  /** The number of jobs whose ids are returned; each step returns at most that many. */
  readonly sample: number
  /** Whether to look for the ids of jobs of which a child has failed. Default false. */
  readonly parents?: boolean
}

/** Jobs of a range; each is in one of the first five groups. */
export interface CountedJobs {
  /** Jobs that neither a flow nor a schedule depends on. */
  readonly free: number
  /** As `free`, but they will fail when a worker takes them. */
  readonly freeFailing: number
  /** Jobs that a parent waits for, or that wait for children. */
  readonly flow: number
  readonly flowFailing: number
  /** The next jobs of schedules. */
  readonly scheduled: number
  /** Of the free ones. */
  readonly restorable: number
  /** Size of the restorable ones, as counted for the room. */
  readonly bytes: number
  readonly ids: readonly string[]
  /** Ids of jobs of which a child that they need has failed. */
  readonly parents: readonly string[]
}

/** How many deleted jobs, and how many bytes of them, a queue can still keep. */
export interface UndoRoom {
  readonly jobs: number
  readonly bytes: number
}

/** A deleted job that can still be restored; its data is in stored form. */
export interface DeletedJob {
  readonly id: string
  readonly queueName: string
  readonly data: unknown
  readonly opts: Readonly<Record<string, unknown>>
  /** When it was added, ms since 1970. */
  readonly timestamp: number
}

/** Everything that is stored about a deleted job; values and texts are in stored form. */
export interface DeletedJobDetails extends DeletedJob {
  readonly name: string
  readonly result: unknown
  readonly progress: unknown
  readonly error: string | null
  /** Oldest first. */
  readonly logs: readonly string[]
  /** ms since 1970; null if it had not ended. */
  readonly finishedAt: number | null
  /** The job of a flow that had waited for it. */
  readonly parentKey: string | undefined
}

/** Deletes jobs in short steps, and restores them within a limited time; see `Queues`. */
export interface Deletion {
  deleteJob(queue: string, id: string, undo: UndoOptions): Promise<DeleteOutcome>
  deleteJobs(queue: string, range: DeleteRange, undo?: UndoOptions): AsyncIterable<DeletedStep>
  restoreJobs(queue: string, batch: string): AsyncIterable<RestoredStep>
  countJobs(queue: string, range: DeleteRange, room: UndoRoom, options: CountOptions): AsyncIterable<CountedJobs>
  undoRoom(queue: string): Promise<UndoRoom>
  /** In the order of their deletion. */
  deletedJobs(queue: string, page: { readonly offset: number; readonly limit: number }): Promise<readonly DeletedJob[]>
  /** Undefined if it does not exist or has expired. */
  deletedJob(queue: string, id: string): Promise<DeletedJobDetails | undefined>
  /** Whether a job that was added at this time, in ms since 1970, was purged within the last hour: whoever has read it must not store it again. */
  isErased(queue: string, id: string, addedAt: number): Promise<boolean>
}

/** A job that was removed. */
export interface RemovedJob {
  readonly id: string
  /** When it was added, ms since 1970. */
  readonly addedAt: number
}

/** A job that is erased; without a time, all jobs with its id that were added until now. */
export interface ForgottenJob {
  readonly id: string
  /** When it was added, ms since 1970. */
  readonly addedAt?: number
}

/** The id under which the erasure of one job is noted, beside those of all jobs with an id: no id of a job begins with a number and a colon. */
export const exactly = (id: string, addedAt: number): string => `${addedAt}:${id}`

/** The part of a backend that deletes and restores jobs. */
export interface DeletionBackend extends Deletion {
  /**
   * Permanently removes deleted jobs; returns the ids of those that existed. Afterwards, a deletion of these jobs is final, and no restoration
   * brings them back: see {@link erased}.
   */
  forget(queue: string, jobs: readonly ForgottenJob[]): Promise<readonly string[]>
  /** Returns the ids of those removed jobs that no other call has claimed: each job has one claimant, over all processes. */
  claim(queue: string, jobs: readonly RemovedJob[]): Promise<readonly string[]>
  /** Removes deleted jobs that have expired, if the store does not do so itself. */
  expire(): Promise<void>
}

/**
 * For how long an erasure holds against deletions and restorations that were under way, in ms, and by how much the clock of a producer may
 * be behind: a job that was added later with the same id is another one.
 */
export const erased = { ms: 3_600_000, leewayMs: 60_000 } as const

/** Limits of the deleted jobs that a queue keeps. Deletions beyond them are permanent. */
export const mostDeleted: UndoRoom = { jobs: 20_000, bytes: 64 * 1024 * 1024 }

/** Jobs per step, which takes Redis about 2 ms. */
export const stepJobs = 100
/** How many jobs that stay in a list mark where a walk over it goes on, in case that some of them leave. */
export const mostAnchors = 20
