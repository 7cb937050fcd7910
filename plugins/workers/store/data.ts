import type { DataStore } from 'zin'
import { byName, type StoredWorker, type WorkerStore } from './contract.js'

/** The worker records of the driver `kvstore`, which Redis does not keep as texts. Those of other drivers are in tables, or move with their database. */
export function workersData(store: WorkerStore): DataStore {
  return {
    where: 'kvstore',
    size: async () => (await store.all()).length,
    async *read() {
      for (const worker of [...(await store.all())].sort(byName)) yield { of: 'records', worker }
      return []
    },
    checker:
      () =>
      ({ of, worker }) => {
        if (of !== 'records' || !isWorker(worker))
          throw new Error('a record is not that of a worker, with its name, versions and desired state')
      },
    async write(records) {
      // In a table, kv has moved them already.
      for (const { worker } of records) await store.insert(worker as StoredWorker)
    },
    async clear() {
      for (const worker of await store.all()) await store.remove(worker)
    },
  }
}

function isWorker(value: unknown): value is StoredWorker {
  if (typeof value !== 'object' || value === null) return false
  const { desired, generation, id, record, versions } = value as Partial<StoredWorker>
  return (
    [id, record?.name, record?.queueName, desired?.version].every((text) => typeof text === 'string' && text !== '') &&
    Number.isSafeInteger(generation) &&
    Array.isArray(versions)
  )
}
