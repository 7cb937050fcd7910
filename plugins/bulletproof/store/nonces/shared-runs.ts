/**
 * Returns a function that runs the task, one run at a time. Calls during a run share the next run, so that each call gets a run that
 * started after it, and many concurrent calls cost few runs. A failed run rejects only the calls that share it.
 */
export function sharedRuns(task: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  return () => {
    if (next === undefined) {
      next = last.then(() => {
        next = undefined
        return task()
      })
      last = next.catch(() => undefined)
    }
    return next
  }
}
