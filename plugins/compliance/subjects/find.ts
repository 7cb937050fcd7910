import type { Clock } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import type { Marks } from '../store/marks.js'
import type { IndexedJob, SubjectIndex } from '../store/subject-index.js'
import { walk, walkDeleted } from '../walk.js'
import { type Declarations, pathsOf } from './declared.js'
import type { SubjectDigests } from './digest.js'
import type { StoreCopies } from './store-copies.js'
import { type StoredJob, type StoredSubjects, templateOf } from './stored.js'

export interface FindParts {
  readonly queues: Queues
  readonly index: SubjectIndex
  readonly marks: Marks
  readonly copies: Pick<StoreCopies, 'match' | 'renew'>
  readonly declarations: Declarations
  readonly digests: SubjectDigests
  readonly stored: StoredSubjects
  readonly clock: Clock
  /** Pause after each step of a walk, ms. */
  readonly pauseMs?: number
}

/** A step of a search: jobs and schedules of one queue that may be those of the subject; whoever uses them asks the stored ones. */
export interface FoundJobs {
  readonly queue: string
  /** Ids of jobs. */
  readonly jobs: readonly string[]
  /** Ids of schedules. */
  readonly schedules: readonly string[]
  /** True: jobs changed state faster than the queue could be read, so some may be missing. */
  readonly unsettled?: boolean
}

type WalkedJob = StoredJob & { readonly id?: string; readonly timestamp: number }

/** Index entries per read. */
const atOnce = 500
/** Maximum number of walks over a queue until two in succession find nothing new. */
const mostWalks = 12
const markOf = (queue: string): string => `subjects.indexed:${queue}`

/** Finds the jobs of subjects, in the index and by walking over queues whose older jobs are not indexed yet. */
export class SubjectJobs {
  readonly #parts: FindParts

  constructor(parts: FindParts) {
    this.#parts = parts
  }

  /**
   * Yields the jobs of a subject. A queue is walked after its subjects were declared, until walks in both orders find nothing new, which
   * indexes the jobs of all subjects; after that, only the index is used, until Redis or the tables were set back to a copy. A job may be
   * yielded twice.
   */
  async *find(subject: string, signal: AbortSignal): AsyncGenerator<FoundJobs, void, undefined> {
    const { copies, digests, marks, queues } = this.#parts
    const { digests: wanted } = await digests.allOf(subject)
    const isSetBack = !(await copies.match())
    const scheduled = new Set<string>()
    for await (const step of this.#indexed(wanted)) {
      if (step.schedules.length > 0) scheduled.add(step.queue)
      yield step
    }
    let [hasWalked, areSettled] = [false, true]
    for (const queue of await queues.names()) {
      if (signal.aborted) return
      const declared = this.#declarationOf(queue)
      const isIndexed = !isSetBack && (await marks.get(markOf(queue))) === declared
      // The store itself adds the jobs of a schedule, so only a walk finds them.
      if (isIndexed && !scheduled.has(queue)) continue
      hasWalked = true
      const isSettled = yield* this.#walked(queue, new Set(wanted), signal)
      if (signal.aborted) return
      areSettled &&= isSettled
      if (!isSettled) yield { queue, jobs: [], schedules: [], unsettled: true }
      else if (!isIndexed) await marks.set(markOf(queue), declared)
    }
    // Another process may have indexed jobs that these walks have not come upon.
    if (hasWalked) yield* this.#indexed(wanted)
    if (isSetBack && areSettled) await copies.renew()
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

  /** Returns whether the queue was read completely. */
  async *#walked(queue: string, wanted: ReadonlySet<string>, signal: AbortSignal): AsyncGenerator<FoundJobs, boolean, undefined> {
    const { clock, queues } = this.#parts
    const schedules: string[] = []
    for (const { key, template } of await queues.queue(queue).getJobSchedulers(0, -1, true)) {
      const found = await this.#parts.stored.of(queue, templateOf(queue, template ?? {}))
      if (found.some((one) => wanted.has(one))) schedules.push(key)
    }
    if (schedules.length > 0) yield { queue, jobs: [], schedules }
    // Yields the jobs after the walk: the caller purges them, which would shift those not read yet.
    const theirs = new Set<string>()
    const since = clock.now()
    // Two walks in which a job was missed need two changes of its state, each at the wrong time.
    let quiet = 0
    for (let walks = 0; walks < mostWalks && quiet < 2 && !signal.aborted; walks++) {
      let added = 0
      for await (const jobs of this.#steps(queue, walks % 2 === 1, signal)) {
        const step = await this.#index(queue, jobs, wanted, since)
        added += step.added
        for (const id of step.theirs) theirs.add(id)
      }
      quiet = added === 0 ? quiet + 1 : 0
    }
    if (theirs.size > 0) yield { queue, jobs: [...theirs], schedules: [] }
    return quiet === 2
  }

  /** Yields jobs, also deleted ones; those come last, as a job is deleted after it was stored, or first. */
  async *#steps(queue: string, reverse: boolean, signal: AbortSignal): AsyncGenerator<readonly WalkedJob[], void, undefined> {
    const { pauseMs, queues } = this.#parts
    if (reverse) yield* walkDeleted({ queues, queue, signal })
    yield* walk({ queues, queue, reverse, signal, ...(pauseMs !== undefined && { pauseMs }) })
    if (!reverse) yield* walkDeleted({ queues, queue, signal })
  }

  /** Indexes jobs. Returns the ids of those of the wanted subjects, and how many entries of jobs added until `since` were missing. */
  async #index(
    queue: string,
    jobs: readonly WalkedJob[],
    wanted: ReadonlySet<string>,
    since: number,
  ): Promise<{ readonly theirs: readonly string[]; readonly added: number }> {
    const entries: IndexedJob[] = []
    for (const job of jobs) {
      for (const subject of await this.#parts.stored.of(queue, job)) entries.push({ subject, queue, job: job.id ?? '', at: job.timestamp })
    }
    const { index } = this.#parts
    const added = await index.addMissing(entries.filter(({ at }) => at <= since))
    // Its producer has indexed it, or it is that of a schedule.
    await index.addMissing(entries.filter(({ at }) => at > since))
    return { theirs: entries.filter(({ subject }) => wanted.has(subject)).map(({ job }) => job), added }
  }

  /** Returns a mark that changes with the declared paths, and with how queues are walked, so that a queue is walked again after a change. */
  #declarationOf(queue: string): string {
    return this.#parts.digests.of(JSON.stringify(['in both orders', ...pathsOf(this.#parts.declarations, queue)]))
  }
}

/** Says which queues could not be read completely. */
export function unsettledText(queues: Iterable<string>): string {
  return `Jobs of these queues changed their state, or were stored by a process without WORKER_GDPR, faster than they could be read, so some may be left: ${[...queues].join(', ')}. Repeat the request`
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
