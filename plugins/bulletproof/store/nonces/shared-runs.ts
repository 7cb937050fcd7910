/**
 * Runs a task one call at a time. Calls that come while it runs share one run after it, so that each call gets a run that began
 * after the call, and many calls cost few runs. A run that fails fails for all that share it, and for no others.
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
