/** A page of schedules, by when they are due: from position `from` on, at most `limit`. */
export interface SchedulePage {
  readonly from: number
  readonly limit: number
  /** Runs that were due at this time or before are overdue, in ms since 1970. */
  readonly overdue: number
  readonly now: number
}

/** What is wrong with the schedules of a page. */
export interface ScheduleFaults {
  /** Those that have not ended and whose next run is overdue; `next` in ms since 1970. */
  readonly overdue: readonly { readonly key: string; readonly next: number }[]
  /** Those whose last run has failed: its id, and when, in ms since 1970. */
  readonly failed: readonly { readonly key: string; readonly id: string; readonly at: number }[]
  /** Number of schedules of the queue. */
  readonly total: number
}

/** What the two stores do differently for the jobs of schedules. */
export interface ScheduleBackend {
  /** Removes a running job under its lock, as though it had not been added. False if the lock is another one's. */
  drop(queue: string, id: string, token: string): Promise<boolean>
  /** Removes a schedule, and its next run unless that has begun. False if there is none. */
  remove(queue: string, id: string): Promise<boolean>
  /**
   * Makes a running job the one that holds a deduplication id, until it has ended, or for `ttl` ms. Returns the id of the job that holds it
   * already; undefined if none does.
   */
  holdDeduplication(queue: string, id: string, deduplication: { readonly id: string; readonly ttl?: number }): Promise<string | undefined>
  /**
   * How long the last lock of a running job of a queue still holds, in ms; undefined if none does, or no other process can use the store. Of
   * many running jobs, the 1,000 that were taken last count.
   */
  lockLeft(queue: string): Promise<number | undefined>
  /** One command on the store. */
  faults(queue: string, page: SchedulePage): Promise<ScheduleFaults>
}
