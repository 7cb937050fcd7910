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
}
