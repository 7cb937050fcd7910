import { promiseOf } from './promise-of.js'

/** How long an attempt that ran out of time gets to notice its signal, in ms. */
const graceMs = 2_000

export interface TimeLimit {
  /** ms. */
  readonly ms: number
  /** Called when the time is over: tells the work, and answers what it fails with. */
  readonly late: () => Error
  /** An outcome that stands also when it comes late: what it says has happened in the store. */
  readonly stands: (error: unknown) => boolean
}

/**
 * Runs work that must end in time. When it does not, the outcome is what `late` answers: at once when the work ends, and after a grace
 * when it goes on. It cannot be stopped then, and nobody waits for it any more.
 */
export function runInTime(work: () => unknown, { ms, late, stands }: TimeLimit): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let lateness: Error | undefined
    let timer = setTimeout(() => {
      const error = late()
      lateness = error
      timer = setTimeout(reject, graceMs, error)
    }, ms)
    promiseOf(work).then(
      (value) => {
        clearTimeout(timer)
        if (lateness === undefined) resolve(value)
        else reject(lateness)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(lateness === undefined || stands(error) ? error : lateness)
      },
    )
  })
}
