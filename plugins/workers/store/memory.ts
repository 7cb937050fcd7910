import { byName, type StoredWorker, type WorkerStore } from './contract.js'
import { pageOf } from './page.js'

/** Opens a store in the memory of this process. */
export function memoryStore(): WorkerStore {
  const workers = new Map<string, StoredWorker>()
  return {
    driver: 'memory',
    place: {},
    shared: false,
    async prepare() {},
    async insert(worker) {
      if (workers.has(worker.record.name)) return false
      workers.set(worker.record.name, worker)
      return true
    },
    async get(name) {
      return workers.get(name)
    },
    async page(query) {
      return pageOf([...workers.values()], query)
    },
    async all() {
      return [...workers.values()].sort(byName)
    },
    async replace(worker) {
      const stored = workers.get(worker.record.name)
      if (stored?.id !== worker.id || stored.generation !== worker.generation - 1) return false
      workers.set(worker.record.name, worker)
      return true
    },
    async remove(worker) {
      return workers.get(worker.record.name)?.id === worker.id && workers.delete(worker.record.name)
    },
  }
}
