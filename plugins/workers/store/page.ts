import { byName, type PageQuery, type StoredWorker, type StorePage } from './contract.js'

/** Returns a page of a list of workers in any order, for stores that cannot query a part of them. */
export function pageOf(workers: readonly StoredWorker[], query: PageQuery): StorePage {
  const { offset, limit, inactive, only, without } = query
  const matching = workers
    .filter(({ record }) => (inactive || record.activeStatus) && only?.has(record.name) !== false && without?.has(record.name) !== true)
    .sort(byName)
  return { workers: matching.slice(offset, offset + limit), total: matching.length }
}

/** Returns the names in `only` that are not excluded, sorted; undefined without `only`. */
export function namesOf({ only, without }: PageQuery): readonly string[] | undefined {
  return only && [...only].filter((name) => without?.has(name) !== true).sort()
}

export const emptyPage: StorePage = { workers: [], total: 0 }
