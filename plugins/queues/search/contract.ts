import type { QueueJob } from '../cancel.js'

/** Property names from the data of a job to a value. */
export type Place = readonly string[]

/** A field of the data of a queue's jobs by which they are found. */
export interface SearchField {
  readonly queue: string
  /** As it is declared: `customer.id`. */
  readonly path: string
  /** Where its value may stand in the data as the store keeps them. */
  readonly places: readonly Place[]
}

/** A job that was added. */
export interface AddedJob {
  readonly id?: string | undefined
  /** In stored form. */
  readonly data: unknown
}

/** What an index knows of a value. */
export interface FoundIds {
  /** The newest first, as far as their ids tell. Some of the jobs may be gone or have changed. */
  readonly ids: readonly string[]
  /** Of all entries for the value. */
  readonly total: number
  /** Since when jobs are in the index, ms since 1970; undefined: all are. */
  readonly since: number | undefined
}

/** Jobs with a value in a declared field. */
export interface FoundJobs {
  /** The newest first, as far as their ids tell. */
  readonly jobs: readonly QueueJob[]
  /** Entries of the index that were looked up, and all that it has for the value. */
  readonly looked: number
  readonly of: number
  /** Jobs that were added before are not in the index, ms since 1970; undefined: all are. */
  readonly since: number | undefined
}

/** The part of a backend that finds jobs by declared fields. */
export interface SearchBackend {
  /** Prepares the declared fields, and removes what earlier declarations left. */
  open(fields: readonly SearchField[]): Promise<void>
  /** Fields are of one queue. */
  added(fields: readonly SearchField[], jobs: readonly AddedJob[]): Promise<void>
  removed(fields: readonly SearchField[], jobs: readonly AddedJob[]): Promise<void>
  find(field: SearchField, value: string, limit: number): Promise<FoundIds>
}
