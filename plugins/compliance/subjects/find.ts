import type { DeletedJob, Queues } from 'zin/plugins/queues'
import type { Marks } from '../store/marks.js'
import type { IndexedJob, SubjectIndex } from '../store/subject-index.js'
import { walk, walkDeleted } from '../walk.js'
import { type Declarations, pathsOf, subjectsIn } from './declared.js'
import { type SubjectDigests, unpacked } from './digest.js'

export interface FindParts {
  readonly queues: Queues
  readonly index: SubjectIndex
  readonly marks: Marks
  readonly declarations: Declarations
  readonly digests: SubjectDigests
  /** Pause after each step of a walk, ms. */
  readonly pauseMs?: number
}

/** A step of a search: jobs and schedules of one queue. */
export interface FoundJobs {
  readonly queue: string
  /** Ids of jobs. */
  readonly jobs: readonly string[]
  /** Ids of schedules. */
  readonly schedules: readonly string[]
}

/** A job as stored. */
type StoredJob = Omit<DeletedJob, 'id' | 'opts'> & { readonly id?: string; readonly opts: object }

/** Index entries per read. */
const atOnce = 500
const markOf = (queue: string): string => `subjects.indexed:${queue}`

/** Finds the jobs of subjects, in the index and by walking over queues whose older jobs are not indexed yet. */
export class SubjectJobs {
  readonly #parts: FindParts

  constructor(parts: FindParts) {
    this.#parts = parts
  }

  /**
   * Yields the jobs of a subject. A queue is walked once after its subjects were declared, which indexes the jobs of all subjects; after
   * that, only the index is used. A job may be yielded twice.
   */
  async *find(subject: string, signal: AbortSignal): AsyncGenerator<FoundJobs, void, undefined> {
    const { digests, marks, queues } = this.#parts
    const { digests: wanted } = await digests.allOf(subject)
    const scheduled = new Set<string>()
    for await (const step of this.#indexed(wanted)) {
      if (step.schedules.length > 0) scheduled.add(step.queue)
      yield step
    }
    for (const queue of await queues.names()) {
      if (signal.aborted) return
      const declared = this.#declarationOf(queue)
      const isIndexed = (await marks.get(markOf(queue))) === declared
      // The store itself adds the jobs of a schedule, so only a walk finds them.
      if (isIndexed && !scheduled.has(queue)) continue
      yield* this.#walked(queue, new Set(wanted), signal)
      if (!signal.aborted && !isIndexed) await marks.set(markOf(queue), declared)
    }
  }

  /** Yields dead letters of a subject's jobs, from the index. */
  async *deadLetters(subject: readonly string[], queues: ReadonlySet<string>): AsyncGenerator<FoundJobs, void, undefined> {
    for await (const step of this.#indexed(subject)) if (queues.has(step.queue)) yield step
  }

  async *#indexed(subjects: readonly string[]): AsyncGenerator<FoundJobs, void, undefined> {
    let after: IndexedJob | undefined
    do {
      const entries = await this.#parts.index.find(subjects, after, atOnce)
      for (const [queue, jobs] of byQueue(entries)) {
        yield {
          queue,
          jobs: jobs.filter((job) => !job.startsWith('@')),
          schedules: jobs.filter((job) => job.startsWith('@')).map((job) => job.slice(1)),
        }
      }
      after = entries.length === atOnce ? entries.at(-1) : undefined
    } while (after !== undefined)
  }

  async *#walked(queue: string, wanted: ReadonlySet<string>, signal: AbortSignal): AsyncGenerator<FoundJobs, void, undefined> {
    const { pauseMs, queues } = this.#parts
    const schedules: string[] = []
    for (const { key, template } of await queues.queue(queue).getJobSchedulers(0, -1, true)) {
      const { data, opts } = template ?? {}
      const found = await this.#digestsOf(queue, { queueName: queue, data, opts: opts ?? {} })
      if (found.some((one) => wanted.has(one))) schedules.push(key)
    }
    if (schedules.length > 0) yield { queue, jobs: [], schedules }
    // Yields the jobs after the walk: the caller purges them, which would shift those not read yet.
    const theirs = new Set<string>()
    for await (const jobs of walk({ queues, queue, signal, ...(pauseMs !== undefined && { pauseMs }) })) {
      for (const id of await this.#index(queue, jobs, wanted)) theirs.add(id)
    }
    for await (const jobs of walkDeleted({ queues, queue, signal })) {
      for (const id of await this.#index(queue, jobs, wanted)) theirs.add(id)
    }
    if (theirs.size > 0) yield { queue, jobs: [...theirs], schedules: [] }
  }

  /** Indexes jobs. Returns the ids of those of the wanted subjects. */
  async #index(queue: string, jobs: readonly StoredJob[], wanted: ReadonlySet<string>): Promise<readonly string[]> {
    const entries: IndexedJob[] = []
    for (const job of jobs) {
      for (const subject of await this.#digestsOf(queue, job)) entries.push({ subject, queue, job: job.id ?? '', at: job.timestamp })
    }
    if (entries.length > 0) await this.#parts.index.addFound(entries)
    return entries.filter(({ subject }) => wanted.has(subject)).map(({ job }) => job)
  }

  /** Returns the digests of a stored job, from its option and its decrypted data; only from its option if the data cannot be read. */
  async #digestsOf(queue: string, job: Pick<StoredJob, 'queueName' | 'data' | 'opts'>): Promise<readonly string[]> {
    const { declarations, digests, queues } = this.#parts
    const known = unpacked((job.opts as { readonly subject?: unknown }).subject)
    const paths = pathsOf(declarations, queue)
    if (paths.length === 0) return known
    const data = await queues.restoredData(job).catch(() => undefined)
    return [...new Set([...known, ...subjectsIn(data, paths).map((subject) => digests.of(subject))])]
  }

  /** Returns a mark that changes with the declared paths, so that a queue is walked again after a change. */
  #declarationOf(queue: string): string {
    return this.#parts.digests.of(JSON.stringify(pathsOf(this.#parts.declarations, queue)))
  }
}

function byQueue(entries: readonly IndexedJob[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const { job, queue } of entries) {
    const jobs = found.get(queue) ?? []
    if (!jobs.includes(job)) jobs.push(job)
    found.set(queue, jobs)
  }
  return found
}
