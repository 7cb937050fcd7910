/** Returns the outcome of work as a promise, without the extra microtasks of an async function that returns a promise. */
export function promiseOf(work: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(work())
  } catch (error) {
    return Promise.reject(error)
  }
}
