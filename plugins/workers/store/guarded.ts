import { messageOf } from 'zin'
import { workerErrors } from '../errors.js'
import type { WorkerStore } from './store.js'

/** A store whose failures to reach its server answer 503; other errors pass. */
export function guarded(store: WorkerStore, isUnavailable: (error: unknown) => boolean): WorkerStore {
  const guard = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw isUnavailable(error) ? workerErrors.WORKER_STORE_UNAVAILABLE(store.driver, messageOf(error)) : error
    }
  }
  return {
    ...store,
    prepare: () => guard(store.prepare()),
    insert: (worker) => guard(store.insert(worker)),
    get: (name) => guard(store.get(name)),
    page: (query) => guard(store.page(query)),
    all: () => guard(store.all()),
    replace: (worker) => guard(store.replace(worker)),
    remove: (worker) => guard(store.remove(worker)),
  }
}
