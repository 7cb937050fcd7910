/** What work gives or throws as a promise, without the turns of the event loop that an async function around a promise takes. */
export function promiseOf(work: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(work())
  } catch (error) {
    return Promise.reject(error)
  }
}
