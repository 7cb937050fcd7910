import type { Collection, Db } from 'mongodb'
import type { StoredWorker, WorkerStore } from './contract.js'
import { emptyPage, namesOf } from './page.js'

/** A worker in a collection. Its name is the `_id`, so the default index keeps names unique. */
interface WorkerDocument {
  readonly _id: string
  readonly id: string
  readonly active: boolean
  readonly generation: number
  readonly worker: StoredWorker
}

interface Facet {
  readonly counted: readonly { readonly total: number }[]
  readonly page: readonly WorkerDocument[]
}

/** Opens a store in a MongoDB collection, shared by all processes of the app. Each method is one command. */
export function docStore(database: () => Promise<Db>, table: string): WorkerStore {
  const collection = async (): Promise<Collection<WorkerDocument>> =>
    (await database()).collection<WorkerDocument>(table, { ignoreUndefined: true })
  return {
    driver: 'docstore',
    place: { table },
    shared: true,
    async prepare() {},
    async insert(worker) {
      try {
        await (await collection()).insertOne(documentOf(worker))
        return true
      } catch (error) {
        if (isDuplicate(error)) return false
        throw error
      }
    },
    async get(name) {
      return (await (await collection()).findOne({ _id: name }))?.worker
    },
    async page(query) {
      const { offset, limit, inactive, without } = query
      const names = namesOf(query)
      if (names?.length === 0) return emptyPage
      const excluded = names === undefined && without !== undefined && without.size > 0
      const match = {
        ...(inactive ? {} : { active: true }),
        ...(names === undefined ? {} : { _id: { $in: names } }),
        ...(excluded ? { _id: { $nin: [...without] } } : {}),
      }
      const page = limit === 0 ? [{ $match: { _id: null } }] : [{ $skip: offset }, { $limit: limit }]
      const stages = [{ $match: match }, { $sort: { _id: 1 } }, { $facet: { counted: [{ $count: 'total' }], page } }]
      const [facet] = await (await collection()).aggregate<Facet>(stages).toArray()
      return { workers: facet?.page.map(({ worker }) => worker) ?? [], total: facet?.counted[0]?.total ?? 0 }
    },
    async all() {
      const documents = await (await collection()).find({}, { sort: { _id: 1 } }).toArray()
      return documents.map(({ worker }) => worker)
    },
    async replace(worker) {
      const before = { _id: worker.record.name, id: worker.id, generation: worker.generation - 1 }
      const { _id, ...document } = documentOf(worker)
      return (await (await collection()).findOneAndReplace(before, document, { projection: { _id: 1 } })) !== null
    },
    async remove(worker) {
      return (await (await collection()).deleteOne({ _id: worker.record.name, id: worker.id })).deletedCount > 0
    },
  }
}

function documentOf(worker: StoredWorker): WorkerDocument {
  const { id, generation, record } = worker
  return { _id: record.name, id, active: record.activeStatus, generation, worker }
}

function isDuplicate(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 11_000
}
