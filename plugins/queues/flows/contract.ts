/** A job that a change of a flow has removed, failed, or made wait again, as it was before. */
export interface ChangedJob {
  readonly queue: string
  readonly id: string
  /** Its state, as BullMQ names it. */
  readonly state: string
  /** When it had ended, or was added if it had not; ms since 1970. */
  readonly at: number
  readonly attempts: number
}

/**
 * Why nothing was changed. `changed`: the job is in another state, or does not exist. `tied`: its parent waits for it. `scheduled`: it is the
 * next job of a schedule. `busy`: a worker is failing its parent because of it; try again. `gone`: a child that it needs no longer exists.
 */
export type FlowRefusal = 'changed' | 'tied' | 'scheduled' | 'busy' | 'gone'

/** The jobs that were changed, first the given one; or why none was. */
export type FlowChange =
  | { readonly jobs: readonly ChangedJob[]; readonly refused?: undefined }
  | { readonly refused: FlowRefusal /** The key of the child, with `gone`. */; readonly child?: string; readonly jobs?: undefined }

export interface RetryOptions {
  /** Whether the job has all its attempts again. Default false: one more. */
  readonly resetAttempts?: boolean
}

/** Changes of single jobs that respect the jobs that wait for them. */
export interface Flows {
  /**
   * Makes a failed job wait again, and first the jobs below it whose failure failed it: it waits for them, and so does each parent above that
   * failed through it. All of it happens, or nothing.
   *
   * @example
   * const { jobs, refused } = await ctx.services.queues.retry('reports', '42')
   * if (jobs === undefined) log.warn({ refused }, 'it was not retried')
   */
  retry(queue: string, id: string, options?: RetryOptions): Promise<FlowChange>
  /**
   * Removes a job permanently that waits or has ended. The jobs below a waiting one that wait themselves are removed with it. A job that its
   * parent waits for fails first, so that the parent does not run without it.
   */
  remove(queue: string, id: string): Promise<FlowChange>
}

/** Changes jobs together with those that they wait for, or that wait for them. Each change is one command: all of it happens, or nothing. */
export interface FlowBackend {
  /**
   * Removes a job that waits in any state, or with `ended` also one that has ended. The jobs below a waiting one that wait themselves are
   * removed with it, unless `keepsBelow`; those that run or have ended stay. A parent that waits for a job that has ended fails.
   */
  removeJob(queue: string, id: string, options: { readonly ended: boolean; readonly keepsBelow?: boolean }): Promise<FlowChange>
  /** Removes the jobs below a job that wait; those that run or have ended stay, and it still waits for those that run. */
  removeBelow(queue: string, id: string): Promise<readonly ChangedJob[]>
  /**
   * Makes a failed job wait again, and first the jobs below it whose failure failed it. It waits for them. A parent that this job has
   * failed waits for it again, as soon as no other child keeps it failed; so do the parents above.
   */
  retryJob(queue: string, id: string, options: RetryOptions): Promise<FlowChange>
  /**
   * Those of some running jobs whose lock has ended: their process has ended, or is blocked. It takes the lock again if it can go on, so one
   * look proves nothing.
   */
  unlocked(queue: string, ids: readonly string[]): Promise<readonly string[]>
  /** Lets a running job whose lock has ended wait again, as the next look of a worker for stalled jobs does. False if it has a lock. */
  release(queue: string, id: string): Promise<boolean>
  /** Lets a parent that failed through its child fail at once, instead of after its delay. */
  hasten(parentKey: string): Promise<void>
  /** Takes back an attempt that was counted for a failed job. */
  uncount(queue: string, id: string): Promise<void>
}

/** How a parent fails for its child, in BullMQ: the key is `<prefix>:<queue>:<id>` on Redis, and `<queue>:<id>` on the embedded store. */
const byChild = /^child (.+) failed$/
/** The same within a text, such as a stack or the error of a grandparent, which may be cut. Ids of children have no colon. */
const ofChild = /\bchild (?:[^\s:]{1,200}:)?([\w.-]{1,100}):[^\s:][^:\n]{0,199}?(?: failed\b|$)/g

/** The queue and the id of the child whose failure failed a job, from the reason that BullMQ gives; undefined for any other reason. Pure. */
export function failedChild(reason: string | undefined): { readonly queue: string; readonly id: string } | undefined {
  const [, key = ''] = byChild.exec(reason ?? '') ?? []
  const parts = key.split(':')
  const [queue, id] = parts.slice(-2)
  return queue === undefined || id === undefined || queue === '' || id === '' ? undefined : { queue, id }
}

/**
 * An error or a stack as shown to a caller who sees the jobs of some queues: it ends where it begins to name a job of another one, because what
 * follows is the error of that job. Pure.
 */
export function withoutHiddenChildren(text: string, sees: (queue: string) => boolean): string {
  for (const { 1: queue = '', index } of text.matchAll(ofChild))
    if (!sees(queue)) return `${text.slice(0, index)}a child in another queue failed`
  return text
}
