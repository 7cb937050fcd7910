import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type ActionFacts, type Clock, type Logger, messageOf, type SlotOf } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { Queues } from 'zin/plugins/queues'
import type { ComplianceHooks, SubjectRecord } from '../hooks.js'
import type { Erasure, Erasures, PendingJob } from '../store/erasures.js'
import type { SubjectIndex } from '../store/subject-index.js'
import { type Declarations, deadLettersOf, isSubject } from './declared.js'
import type { SubjectDigests } from './digest.js'
import { subjectErrors } from './errors.js'
import { type ExportedJob, exportedJob } from './export.js'
import type { SubjectJobs } from './find.js'

export interface SubjectsParts {
  readonly enabled: boolean
  readonly queues: Queues
  readonly jobs: SubjectJobs
  readonly index: SubjectIndex
  readonly erasures: Erasures
  readonly digests: SubjectDigests
  readonly declarations: Declarations
  readonly hooks: { readonly [K in keyof ComplianceHooks]: SlotOf<ComplianceHooks[K]> }
  /** Overwrites what deleted rows left in the files of the database. */
  readonly scrubDatabase: () => Promise<void>
  /** Lets plugins refuse and record what is done. */
  readonly manage: Manage
  /** Records how an erasure ended that went on after its request. */
  readonly onEnded: (erasure: Erasure) => void
  readonly clock: Clock
  readonly log: Logger
}

type Manage = <T>(
  action: { readonly action: string; readonly target: string },
  work: (note: (facts: ActionFacts) => void) => Promise<T>,
) => Promise<T>

/** Everything about a subject. */
export interface SubjectExport {
  readonly subject: string
  readonly exportedAt: string
  readonly jobs: readonly ExportedJob[]
  /** What other plugins keep. */
  readonly records: readonly (SubjectRecord & { readonly plugin: string })[]
  /** False: there are more than 10,000 jobs, or a plugin failed; `problems` says which. */
  readonly complete: boolean
  readonly problems: readonly string[]
}

const mostExported = 10_000
/** How often it is looked whether jobs that an erasure waits for have ended, in ms. */
const pendingMs = 1_000
/** How long a dead letter of a job may come after its end, in ms. */
const deadLetterMs = 3_000
/** An erasure that was not touched for this long has lost its process, in ms. */
const abandonedMs = 15_000
const purgedAtOnce = 100

/** Exports and erases what the app keeps about a subject. */
export class Subjects {
  readonly #parts: SubjectsParts
  readonly #closing = new AbortController()
  readonly #running = new Map<string, { current: Erasure; readonly ended: Promise<void> }>()

  constructor(parts: SubjectsParts) {
    this.#parts = parts
  }

  /** 400 SUBJECT_INVALID, SUBJECT_UNDECLARED; 409 GDPR_OFF. */
  async export(subject: string): Promise<SubjectExport> {
    await this.#check(subject)
    return this.#managed('subject.export', subject, () => this.#export(subject))
  }

  async #export(subject: string): Promise<SubjectExport> {
    const { clock, hooks, jobs, queues } = this.#parts
    const found = new Map<string, ExportedJob>()
    const problems: string[] = []
    search: for await (const step of jobs.find(subject, this.#closing.signal)) {
      for (const id of step.jobs) {
        const key = `${step.queue}:${id}`
        if (found.has(key)) continue
        if (found.size >= mostExported) {
          problems.push(`There are more than ${mostExported} jobs`)
          break search
        }
        const job = await exportedJob(queues, step.queue, id)
        if (job !== undefined) found.set(key, job)
      }
    }
    const records: (SubjectRecord & { readonly plugin: string })[] = []
    for (const [plugin, theirs] of await hooks.exportSubject.call(subject)) {
      if (theirs instanceof Error) problems.push(`The plugin ${plugin} failed: ${theirs.message}`)
      else records.push(...theirs.map((record) => ({ ...record, plugin })))
    }
    const exportedAt = new Date(clock.now()).toISOString()
    return { subject, exportedAt, jobs: [...found.values()], records, complete: problems.length === 0, problems }
  }

  /** Starts an erasure, and waits up to `waitMs` for its end. The errors of `export`; 503 ERASURE_FAILED. */
  async erase(subject: string, actor: Actor | undefined, waitMs: number): Promise<Erasure> {
    await this.#check(subject)
    return this.#managed('subject.erase', subject, async (note) => {
      const erasure = await this.#erase(subject, actor, waitMs)
      if (erasure.state === 'failed') throw subjectErrors.ERASURE_FAILED(erasure)
      note({ reason: erasureText(erasure) })
      return erasure
    })
  }

  async #erase(subject: string, actor: Actor | undefined, waitMs: number): Promise<Erasure> {
    const { clock, digests, erasures } = this.#parts
    const now = new Date(clock.now()).toISOString()
    const { kind = 'plugin', id = 'app', via = 'plugin' } = actor ?? {}
    const erasure: Erasure = {
      id: randomUUID(),
      subject: digests.of(subject),
      state: 'running',
      erased: 0,
      pending: 0,
      elsewhere: 0,
      error: null,
      actor: { kind, id, via },
      requestedAt: now,
      updatedAt: now,
    }
    await erasures.save(erasure)
    const running = { current: erasure, ended: Promise.resolve() }
    this.#running.set(erasure.id, running)
    const ended = this.#run(running, () => this.#eraseAll(running, subject))
    Object.assign(running, { ended })
    await Promise.race([ended, wait(waitMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined)])
    const responded = running.current
    if (isOpen(responded)) void ended.then(() => this.#tellEnd(running.current))
    return responded
  }

  /** 404 ERASURE_NOT_FOUND. */
  async erasure(id: string): Promise<Erasure> {
    const found = this.#running.get(id)?.current ?? (await this.#parts.erasures.get(id))
    if (found === undefined) throw subjectErrors.ERASURE_NOT_FOUND(id)
    return found
  }

  /** Takes over erasures whose process has ended while jobs that they wait for ran. The leader does it. */
  async resume(): Promise<void> {
    const { clock, erasures } = this.#parts
    for (const erasure of await erasures.abandoned(clock.now() - abandonedMs)) {
      if (this.#running.has(erasure.id)) continue
      // The id of the subject is not stored, so the search cannot be repeated; the caller has to.
      const interrupted = 'its process ended during the search; repeat the request'
      if (erasure.state === 'running') {
        const failed = { current: erasure }
        await this.#save(failed, { state: 'failed', error: interrupted })
        this.#tellEnd(failed.current)
        continue
      }
      const running = { current: erasure, ended: Promise.resolve() }
      this.#running.set(erasure.id, running)
      const ended = this.#run(running, () => this.#awaitPending(running)).then(() => this.#tellEnd(running.current))
      Object.assign(running, { ended })
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  /** One that did not end goes on after the next start, in another process. */
  #tellEnd(erasure: Erasure): void {
    if (!isOpen(erasure)) this.#parts.onEnded(erasure)
  }

  #managed<T>(action: string, subject: string, work: (note: (facts: ActionFacts) => void) => Promise<T>): Promise<T> {
    return this.#parts.manage({ action, target: `subject:${this.#parts.digests.of(subject)}` }, work)
  }

  async #check(subject: string): Promise<void> {
    const { declarations, enabled, index } = this.#parts
    if (!enabled) throw subjectErrors.GDPR_OFF()
    if (!isSubject(subject)) throw subjectErrors.SUBJECT_INVALID()
    if (Object.keys(declarations).length === 0 && (await index.isEmpty())) throw subjectErrors.SUBJECT_UNDECLARED()
  }

  async #run(running: { current: Erasure }, work: () => Promise<void>): Promise<void> {
    const { id } = running.current
    try {
      await work()
    } catch (error) {
      this.#parts.log.warn({ err: error, erasure: id }, `an erasure failed: ${messageOf(error)}`)
      await this.#save(running, { state: 'failed', error: messageOf(error).slice(0, 500) }).catch(() => undefined)
    }
    this.#running.delete(id)
  }

  async #eraseAll(running: { current: Erasure }, subject: string): Promise<void> {
    const { erasures, hooks, jobs } = this.#parts
    const { id } = running.current
    for await (const { queue, jobs: ids, schedules } of jobs.find(subject, this.#closing.signal)) {
      await this.#eraseSchedules(running, queue, schedules)
      await erasures.addPending(
        id,
        (await this.#purge(running, queue, ids)).map((job) => ({ queue, job })),
      )
    }
    let elsewhere = 0
    const failed: string[] = []
    for (const [plugin, count] of await hooks.eraseSubject.call(subject)) {
      if (count instanceof Error) failed.push(`the plugin ${plugin} did not erase its part: ${count.message}`)
      else elsewhere += count
    }
    await this.#save(running, { elsewhere })
    await this.#awaitPending(running)
    if (failed.length > 0) throw new Error(failed.join('; '))
  }

  /** Erases jobs as they end, and the dead letters of those that failed for good. */
  async #awaitPending(running: { current: Erasure }): Promise<void> {
    const { erasures, jobs } = this.#parts
    const { id, subject } = running.current
    const { signal } = this.#closing
    let pending = await erasures.pending(id)
    const awaited = byQueue(pending)
    const deadLetters = new Set(pending.map(({ queue }) => deadLettersOf(queue)))
    if (pending.length > 0) await this.#scrub()
    while (pending.length > 0) {
      await this.#save(running, { state: 'waiting', pending: pending.length })
      await wait(pendingMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      for (const [queue, ids] of byQueue(pending)) {
        const left = new Set(await this.#purge(running, queue, ids))
        await erasures.removePending(
          id,
          queue,
          ids.filter((one) => !left.has(one)),
        )
      }
      pending = await erasures.pending(id)
    }
    if (deadLetters.size > 0) {
      await wait(deadLetterMs, undefined, { signal }).catch(() => undefined)
      // Again, for what plugins on other nodes noted of the last attempts in the meantime.
      for (const [queue, ids] of awaited) await this.#purge(running, queue, ids)
      for await (const step of jobs.deadLetters([subject], deadLetters)) await this.#purge(running, step.queue, step.jobs)
    }
    if (signal.aborted) return
    await this.#scrub()
    await this.#save(running, { state: 'completed', pending: 0 })
  }

  async #scrub(): Promise<void> {
    await this.#parts.queues.scrub()
    await this.#parts.scrubDatabase()
  }

  /** The ids of jobs that are left because they run. */
  async #purge(running: { current: Erasure }, queue: string, ids: readonly string[]): Promise<readonly string[]> {
    const { index, queues } = this.#parts
    const left: string[] = []
    for (let from = 0; from < ids.length; from += purgedAtOnce) {
      const some = ids.slice(from, from + purgedAtOnce)
      const { removed, running: busy } = await queues.purge(queue, some)
      left.push(...busy)
      const gone = some.filter((id) => !busy.includes(id))
      if (gone.length > 0) await index.remove(queue, gone)
      await this.#save(running, { erased: running.current.erased + removed.length })
    }
    return left
  }

  async #eraseSchedules(running: { current: Erasure }, queue: string, schedules: readonly string[]): Promise<void> {
    const { index, queues } = this.#parts
    for (const schedule of schedules) {
      await queues.queue(queue).removeJobScheduler(schedule)
      await index.remove(queue, [`@${schedule}`])
      await this.#save(running, { erased: running.current.erased + 1 })
    }
  }

  async #save(running: { current: Erasure }, changes: Partial<Erasure>): Promise<void> {
    const { clock, erasures } = this.#parts
    running.current = { ...running.current, ...changes, updatedAt: new Date(clock.now()).toISOString() }
    await erasures.save(running.current)
  }
}

function isOpen({ state }: Erasure): boolean {
  return state === 'running' || state === 'waiting'
}

/** How far an erasure is, for the audit log: no text of an error. */
export function erasureText({ elsewhere, erased, id, pending, state }: Erasure): string {
  const left = state === 'waiting' ? `, still running: ${pending}` : ''
  return `erasure ${id} ${state}; jobs and schedules: ${erased}, other records: ${elsewhere}${left}`
}

function byQueue(jobs: readonly PendingJob[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const { job, queue } of jobs) found.set(queue, [...(found.get(queue) ?? []), job])
  return found
}
