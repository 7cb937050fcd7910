import type { QueueJob } from '../cancel.js'

/** The path from the data of a job to a value, as property names. */
export type Place = readonly string[]

/** A searchable field in the data of a queue's jobs. */
export interface SearchField {
  readonly queue: string
  /** As declared, such as `customer.id`. */
  readonly path: string
  /** Where the stored data may contain its value. */
  readonly places: readonly Place[]
}

/** A job that was added. */
export interface AddedJob {
  readonly id?: string | undefined
  /** In stored form. */
  readonly data: unknown
}

/** The index entries for a value. */
export interface FoundIds {
  /** Newest first, as far as the ids show. Some of the jobs may no longer exist or may have changed. */
  readonly ids: readonly string[]
  /** Number of all entries for the value. */
  readonly total: number
  /** Jobs added before this time (ms since 1970) are not indexed; undefined if all jobs are. */
  readonly since: number | undefined
}

/** Jobs with a value in a declared field. */
export interface FoundJobs {
  /** Newest first, as far as the ids show. */
  readonly jobs: readonly QueueJob[]
  /** Index entries that were looked up. */
  readonly looked: number
  /** All index entries for the value. */
  readonly of: number
  /** Jobs added before this time (ms since 1970) are not indexed; undefined if all jobs are. */
  readonly since: number | undefined
}

/** The part of a backend that finds jobs by declared fields. */
export interface SearchBackend {
  /** Creates the indexes of the declared fields, and removes those of fields that are no longer declared. */
  open(fields: readonly SearchField[]): Promise<void>
  /** Indexes jobs by fields, all of one queue. */
  added(fields: readonly SearchField[], jobs: readonly AddedJob[]): Promise<void>
  removed(fields: readonly SearchField[], jobs: readonly AddedJob[]): Promise<void>
  find(field: SearchField, value: string, limit: number): Promise<FoundIds>
}
