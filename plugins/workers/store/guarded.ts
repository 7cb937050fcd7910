import { DeadlineError, messageOf, withDeadline } from 'zin'
import { workerErrors } from '../errors.js'
import type { WorkerStore } from './contract.js'

/** Default deadline of a call, in ms. */
const callMs = 5_000

/**
 * Wraps a store so that unreachable servers and calls past the deadline throw WORKER_STORE_UNAVAILABLE (503). Other errors are rethrown.
 *
 * @param where display name of the server.
 */
export function guarded(
  store: WorkerStore,
  isUnavailable: (error: unknown) => boolean,
  where: string = store.driver,
  waitMs = callMs,
): WorkerStore {
  const unavailable = (error: unknown) => workerErrors.WORKER_STORE_UNAVAILABLE(where, messageOf(error))
  const reach = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw isUnavailable(error) || error instanceof DeadlineError ? unavailable(error) : error
    }
  }
  const guard = <T>(work: Promise<T>): Promise<T> => reach(withDeadline(work, waitMs, `no response within ${waitMs} ms`))
  return {
    ...store,
    // No deadline: creating a table may take longer.
    prepare: () => reach(store.prepare()),
    ...(store.exists !== undefined && { exists: () => guard(store.exists?.() ?? Promise.resolve(false)) }),
    insert: (worker) => guard(store.insert(worker)),
    get: (name) => guard(store.get(name)),
    page: (query) => guard(store.page(query)),
    all: () => guard(store.all()),
    replace: (worker) => guard(store.replace(worker)),
    remove: (worker) => guard(store.remove(worker)),
  }
}
