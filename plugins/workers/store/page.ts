import { byName, type PageQuery, type StoredWorker, type StorePage } from './contract.js'

/** The page of a query over all workers, in any order: what stores do that cannot ask for a part. */
export function pageOf(workers: readonly StoredWorker[], query: PageQuery): StorePage {
  const { offset, limit, inactive, only, without } = query
  const matching = workers
    .filter(({ record }) => (inactive || record.activeStatus) && only?.has(record.name) !== false && without?.has(record.name) !== true)
    .sort(byName)
  return { workers: matching.slice(offset, offset + limit), total: matching.length }
}

/** The names that `only` lets through, in their order; undefined: all names are let through. */
export function namesOf({ only, without }: PageQuery): readonly string[] | undefined {
  return only && [...only].filter((name) => without?.has(name) !== true).sort()
}

export const emptyPage: StorePage = { workers: [], total: 0 }
