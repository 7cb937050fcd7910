import type { PurgedData, Queues } from 'zin/plugins/queues'
import { valueAt } from '../encryption/envelope.js'
import { type Declarations, originOf, pathsOf, subjectsIn } from './declared.js'
import { type SubjectDigests, unpacked } from './digest.js'

export interface StoredSubjectsParts {
  readonly queues: Queues
  readonly declarations: Declarations
  readonly digests: Pick<SubjectDigests, 'of' | 'allKnown'>
}

/** A job, or the template of a schedule, as stored. */
export type StoredJob = Omit<PurgedData, 'timestamp'>

/**
 * Reads from stored jobs and schedules whose they are. An id does not say that: jobs are deleted, ended and replaced, and a job that was not
 * added because of its id is indexed beside the one that has it. So an index row only says where to look.
 */
export class StoredSubjects {
  readonly #parts: StoredSubjectsParts

  constructor(parts: StoredSubjectsParts) {
    this.#parts = parts
  }

  /** Returns the digests of a job, from its option and its decrypted data; only from its option if the data cannot be read. */
  async of(queue: string, job: StoredJob): Promise<readonly string[]> {
    const { digests } = this.#parts
    const known = unpacked((job.opts as { readonly subject?: unknown }).subject)
    if (!this.#readsData(queue)) return known
    const data = await this.#parts.queues.restoredData(job).catch(() => undefined)
    return [...new Set([...known, ...this.#inherited(queue, data), ...this.#subjectsIn(queue, data).map((subject) => digests.of(subject))])]
  }

  /** Whether a job names one of some subjects. Throws 500 JOB_PAYLOAD_UNREADABLE if that cannot be told. */
  async names(queue: string, job: StoredJob, wanted: readonly string[]): Promise<boolean> {
    const isWanted = (digest: string): boolean => wanted.includes(digest)
    if (unpacked((job.opts as { readonly subject?: unknown }).subject).some(isWanted)) return true
    if (!this.#readsData(queue)) return false
    const data = await this.#parts.queues.restoredData(job)
    if (this.#inherited(queue, data).some(isWanted)) return true
    return this.#subjectsIn(queue, data).some((subject) => this.#parts.digests.allKnown(subject).some(isWanted))
  }

  /** Removes jobs of some subjects, and leaves those of others that have their ids. */
  purge(
    queue: string,
    ids: readonly string[],
    wanted: readonly string[],
    options: { readonly unlocked?: boolean } = {},
  ): ReturnType<Queues['purge']> {
    return this.#parts.queues.purge(queue, ids, { ...options, only: (job) => this.names(queue, job, wanted) })
  }

  /** Ends a schedule if it names one of some subjects. Returns false if there is none, or it names only others. */
  async purgeSchedule(queue: string, id: string, wanted: readonly string[]): Promise<boolean> {
    const { queues } = this.#parts
    const template = (await queues.queue(queue).getJobScheduler(id))?.template
    if (template !== undefined && !(await this.names(queue, templateOf(queue, template), wanted))) return false
    // Also if there is none: a copy of it may be under way.
    return queues.purgeSchedule(queue, id)
  }

  #readsData(queue: string): boolean {
    return originOf(queue) !== undefined || pathsOf(this.#parts.declarations, queue).length > 0
  }

  #subjectsIn(queue: string, data: unknown): readonly string[] {
    return subjectsIn(data, pathsOf(this.#parts.declarations, queue))
  }

  /** The digests of the original job of a dead letter. */
  #inherited(queue: string, data: unknown): readonly string[] {
    return originOf(queue) === undefined ? [] : unpacked(valueAt(data, 'options.subject'))
  }
}

export function templateOf(queue: string, { data, opts }: { readonly data?: unknown; readonly opts?: object }): StoredJob {
  return { queueName: queue, data, opts: opts ?? {} }
}
