import type { Job, JobNode } from 'bullmq'
import { ZinError } from 'zin'
import type { QueueJob } from '../cancel.js'
import { queueErrors } from '../errors.js'
import type { PayloadSlots } from '../payloads.js'
import { byQueue } from './by-queue.js'
import type { AddedJob, FoundJobs, Place, SearchBackend, SearchField } from './contract.js'
import { valuesAt } from './values.js'

export interface SearchParts {
  /** By queue: paths of fields. */
  readonly declared: Readonly<Record<string, readonly string[]>>
  readonly slot: PayloadSlots['placeJobField']
  readonly store: () => SearchBackend
  readonly find: (queue: string, id: string) => Promise<QueueJob | undefined>
  /** Runs a command on the store. */
  readonly ask: <T>(command: () => Promise<T>) => Promise<T>
  readonly onError: (queue: string, error: unknown) => void
}

/** Jobs read concurrently. */
const atOnce = 25
/** Limit on the data read per search, in characters of JSON; `looked` is then less than `of`. */
const mostCharacters = 32 * 1024 * 1024

/** Finds jobs by declared fields of their data. Does nothing for queues without declared fields. */
export class Search {
  readonly #parts: SearchParts
  #fields: ReadonlyMap<string, readonly SearchField[]> = new Map()

  constructor(parts: SearchParts) {
    this.#parts = parts
  }

  /** Resolves the places of all declared fields and prepares the index. Throws what a listener throws to refuse a field. */
  async open(): Promise<void> {
    const { ask, declared, store } = this.#parts
    const fields: SearchField[] = []
    for (const [queue, paths] of Object.entries(declared)) {
      for (const path of new Set(paths)) fields.push({ queue, path, places: await this.#placesOf(queue, path) })
    }
    await ask(() => store().open(fields))
    this.#fields = byQueue(fields, ({ queue }) => queue)
  }

  covers(queue: string): boolean {
    return this.#fields.has(queue)
  }

  /** Adds jobs to the index. They are already stored, so a failure is only logged: they cannot be found by their fields. */
  async added(queue: string, jobs: readonly AddedJob[]): Promise<void> {
    const fields = this.#fields.get(queue)
    if (fields === undefined) return
    const { ask, onError, store } = this.#parts
    await ask(() => store().added(fields, jobs)).catch((error: unknown) => onError(queue, error))
  }

  async addedTree(tree: JobNode): Promise<void> {
    if (this.#fields.size === 0) return
    for (const [queue, jobs] of byQueue(jobsOf(tree), ({ queueName }) => queueName)) await this.added(queue, jobs)
  }

  async removed(queue: string, jobs: readonly AddedJob[]): Promise<void> {
    const fields = this.#fields.get(queue)
    const { ask, store } = this.#parts
    if (fields !== undefined && jobs.length > 0) await ask(() => store().removed(fields, jobs))
  }

  async find(queue: string, values: Readonly<Record<string, string>>, limit: number): Promise<FoundJobs> {
    const { ask, find, store } = this.#parts
    const wanted = Object.entries(values).map(([path, value]) => ({ field: this.#field(queue, path), value }))
    const [first] = wanted
    if (first === undefined) return { jobs: [], looked: 0, of: 0, since: undefined }
    const { ids, since, total } = await ask(() => store().find(first.field, first.value, limit))
    const jobs: QueueJob[] = []
    let [looked, characters] = [0, 0]
    while (looked < ids.length && characters < mostCharacters) {
      const wantedIds = ids.slice(looked, looked + atOnce)
      const read = (await Promise.all(wantedIds.map((id) => find(queue, id)))).filter((one) => one !== undefined)
      looked += wantedIds.length
      for (const { job } of read) characters += JSON.stringify(job.data)?.length ?? 0
      jobs.push(...read)
    }
    const hasAll = ({ job }: QueueJob): boolean => wanted.every(({ field, value }) => valuesAt(job.data, field.places).includes(value))
    return { jobs: jobs.filter(hasAll), looked, of: total, since }
  }

  /** Throws QUEUE_FIELD_UNKNOWN (400). */
  #field(queue: string, path: string): SearchField {
    const fields = this.#fields.get(queue) ?? []
    const found = fields.find((one) => one.path === path)
    if (found !== undefined) return found
    throw queueErrors.QUEUE_FIELD_UNKNOWN(
      queue,
      path,
      fields.map((one) => one.path),
    )
  }

  async #placesOf(queue: string, path: string): Promise<readonly Place[]> {
    const { slot } = this.#parts
    const plain: readonly Place[] = [path.split('.')]
    if (!slot.active) return plain
    try {
      return await slot.call(plain, queue, path)
    } catch (error) {
      throw error instanceof ZinError && error.cause instanceof ZinError ? error.cause : error
    }
  }
}

function jobsOf({ children = [], job }: JobNode): readonly Job[] {
  return [job, ...children.flatMap(jobsOf)]
}
