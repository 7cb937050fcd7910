import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type ActionFacts, type Clock, type Logger, messageOf, type SlotOf } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { Queues } from 'zin/plugins/queues'
import type { ComplianceHooks } from '../hooks.js'
import type { Erasure, Erasures } from '../store/erasures.js'
import type { SubjectIndex } from '../store/subject-index.js'
import { byQueue, LostJobs, type ShownErasure, shownErasure } from './awaited.js'
import { type Declarations, deadLettersOf, isSubject } from './declared.js'
import { lostText, type SubjectDigests } from './digest.js'
import { subjectErrors } from './errors.js'
import { exportSubject } from './export.js'
import { type SubjectJobs, unsettledText } from './find.js'
import { scheduleRow } from './index-jobs.js'
import { namesOf } from './names.js'
import type { StoreCopies } from './store-copies.js'
import type { StoredSubjects } from './stored.js'

export interface SubjectsParts {
  readonly enabled: boolean
  readonly queues: Queues
  readonly jobs: SubjectJobs
  readonly copies: Pick<StoreCopies, 'keepUp'>
  readonly stored: StoredSubjects
  readonly index: SubjectIndex
  readonly erasures: Erasures
  readonly digests: SubjectDigests
  readonly declarations: Declarations
  readonly hooks: { readonly [K in keyof ComplianceHooks]: SlotOf<ComplianceHooks[K]> }
  /** Overwrites remains of deleted rows in the files of the database. */
  readonly scrubDatabase: () => Promise<void>
  /** Runs a management action, which plugins can refuse and record. */
  readonly manage: Manage
  /** Records the outcome of an erasure that continued after its request. */
  readonly onEnded: (erasure: Erasure) => void
  readonly clock: Clock
  readonly log: Logger
  readonly times?: Partial<ErasureTimes>
}

/** Times of an erasure, in ms. */
interface ErasureTimes {
  /** How often it checks whether pending jobs have ended. Default 1000. */
  readonly pendingMs: number
  /** How long a job whose process no longer holds it is awaited. Default 30000, as workers wait for stalled jobs. */
  readonly lostMs: number
  /** How long after the end of a job its dead letter may arrive. Default 3000. */
  readonly deadLetterMs: number
  /** Pause before it searches queues again that changed faster than they could be read. Default 2000. */
  readonly searchMs: number
  /** How often it is updated, so that no other node considers it abandoned. Default 5000. */
  readonly heartbeatMs: number
}

/** An erasure of this process. */
interface RunningErasure {
  current: Erasure
  /** The digests of its subject under all keys. */
  readonly digests: readonly string[]
  /** Index entries that this erasure was the first to mark. */
  marked: number
  /** The last write; writes run sequentially. */
  saved: Promise<void>
}

type Manage = <T>(
  action: { readonly action: string; readonly target: string },
  work: (note: (facts: ActionFacts) => void) => Promise<T>,
) => Promise<T>

const defaultTimes: ErasureTimes = { pendingMs: 1_000, lostMs: 30_000, deadLetterMs: 3_000, searchMs: 2_000, heartbeatMs: 5_000 }
/** An erasure that was not updated for this long is considered abandoned by its process, in ms. */
const abandonedMs = 15_000
const purgedAtOnce = 100
/** Limit on the searches of an erasure: each finds what was copied or added while the one before was erasing. */
const mostSearches = 5
/** Limit on the searches while queues change faster than they can be read. */
const mostUnsettled = 30

/** Calls `end` when the pieces have been read, or with an error if reading them failed or was given up. */
function untilRead(pieces: AsyncGenerator<string, void, undefined>, end: (error?: Error) => void): typeof pieces {
  const leave = async (): Promise<IteratorResult<string, void>> => {
    end(new Error('the caller stopped reading the export'))
    return pieces.return()
  }
  return {
    next: async () => {
      try {
        const read = await pieces.next()
        if (read.done) end()
        return read
      } catch (error) {
        end(error instanceof Error ? error : new Error(messageOf(error)))
        throw error
      }
    },
    // Unlike the `finally` of a generator, both are called for one that was never started.
    return: leave,
    throw: leave,
    [Symbol.asyncIterator]() {
      return this
    },
  } as typeof pieces
}

/** Exports and erases the data of subjects. */
export class Subjects {
  readonly #parts: SubjectsParts
  readonly #closing = new AbortController()
  readonly #times: ErasureTimes
  readonly #running = new Map<string, RunningErasure & { readonly ended: Promise<void> }>()

  constructor(parts: SubjectsParts) {
    this.#parts = parts
    this.#times = { ...defaultTimes, ...parts.times }
  }

  /**
   * Returns the data of a subject as the text of a JSON object, in pieces. The action ends with the reading. 400 SUBJECT_INVALID,
   * SUBJECT_UNDECLARED; 409 GDPR_OFF.
   */
  async export(subject: string): Promise<AsyncGenerator<string, void, undefined>> {
    await this.#check(subject)
    return new Promise((resolve, reject) => {
      const work = (): Promise<void> =>
        new Promise((done, fail) => {
          const end = (error?: Error): void => (error === undefined ? done() : fail(error))
          resolve(untilRead(exportSubject(subject, this.#parts, this.#closing.signal), end))
        })
      // Rejects if the action is refused; later there is a stream that fails.
      this.#managed('subject.export', subject, work).catch(reject)
    })
  }

  /** Starts an erasure, and waits up to `waitMs` for it to finish. Throws the errors of `export`, and 503 ERASURE_FAILED. */
  async erase(subject: string, actor: Actor | undefined, waitMs: number): Promise<ShownErasure> {
    await this.#check(subject)
    const erased = await this.#managed('subject.erase', subject, async (note) => {
      const erasure = await this.#erase(subject, actor, waitMs)
      if (erasure.state === 'failed') throw subjectErrors.ERASURE_FAILED(erasure)
      note({ reason: erasureText(erasure) })
      return erasure
    })
    return this.#shown(erased)
  }

  #shown(erasure: Erasure): Promise<ShownErasure> {
    const { erasures, queues } = this.#parts
    return shownErasure(erasure, { erasures, queues, takenAfterMs: this.#times.lostMs })
  }

  async #erase(subject: string, actor: Actor | undefined, waitMs: number): Promise<Erasure> {
    const { clock, digests, erasures } = this.#parts
    const { digests: all, lost } = await digests.allOf(subject)
    const same = [...this.#running.values()].find(({ current }) => current.state === 'running' && current.subject === digests.of(subject))
    // It searches until it finds nothing more, so it also erases what this one was asked for.
    if (same !== undefined) return this.#awaited(same, waitMs)
    const now = new Date(clock.now()).toISOString()
    const { kind = 'plugin', id = 'app', via = 'plugin' } = actor ?? {}
    const erasure: Erasure = {
      id: randomUUID(),
      subject: digests.of(subject),
      state: 'running',
      erased: 0,
      pending: 0,
      elsewhere: 0,
      error: lostText(lost) ?? null,
      actor: { kind, id, via },
      requestedAt: now,
      updatedAt: now,
    }
    const running = { current: erasure, digests: all, marked: 0, saved: Promise.resolve(), ended: Promise.resolve() }
    this.#running.set(erasure.id, running)
    const ended = this.#run(running, async () => {
      await erasures.save(erasure, all)
      await this.#eraseAll(running, subject)
    })
    Object.assign(running, { ended })
    const responded = await this.#awaited(running, waitMs)
    if (isOpen(responded)) void ended.then(() => this.#recordEnd(running.current))
    return responded
  }

  /** Waits for the end of an erasure, up to `waitMs`. */
  async #awaited(running: RunningErasure & { readonly ended: Promise<void> }, waitMs: number): Promise<Erasure> {
    await Promise.race([running.ended, wait(waitMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined)])
    return running.current
  }

  /** Returns the progress of an erasure. 404 ERASURE_NOT_FOUND. */
  async erasure(id: string): Promise<ShownErasure> {
    const found = this.#running.get(id)?.current ?? (await this.#parts.erasures.get(id))
    if (found === undefined) throw subjectErrors.ERASURE_NOT_FOUND(id)
    return this.#shown(found)
  }

  /** Resumes abandoned erasures that wait for running jobs, and fails those that were still searching. Called on the leader. */
  async resume(): Promise<void> {
    const { clock, erasures } = this.#parts
    for (const { digests, ...erasure } of await erasures.abandoned(clock.now() - abandonedMs)) {
      if (this.#running.has(erasure.id)) continue
      // The id of the subject is not stored, so only the caller can repeat the search.
      const interrupted = 'its process ended during the search; repeat the request'
      if (erasure.state === 'running') {
        const failed = { current: erasure, digests, marked: 0, saved: Promise.resolve() }
        await this.#save(failed, { state: 'failed', error: interrupted })
        this.#recordEnd(failed.current)
        continue
      }
      const running = { current: erasure, digests, marked: 0, saved: Promise.resolve(), ended: Promise.resolve() }
      this.#running.set(erasure.id, running)
      const ended = this.#run(running, () => this.#awaitPending(running)).then(() => this.#recordEnd(running.current))
      Object.assign(running, { ended })
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Records the end of an erasure. An open one is resumed later, by the leader. */
  #recordEnd(erasure: Erasure): void {
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

  async #run(running: RunningErasure, work: () => Promise<void>): Promise<void> {
    const { id } = running.current
    const heartbeat = setInterval(() => void this.#save(running, {}).catch(() => undefined), this.#times.heartbeatMs).unref()
    try {
      await work()
    } catch (error) {
      this.#parts.log.warn({ err: error, erasure: id }, `erasure ${id} failed: ${messageOf(error)}`)
      await this.#save(running, { state: 'failed', error: messageOf(error).slice(0, 500) }).catch(() => undefined)
    } finally {
      clearInterval(heartbeat)
    }
    this.#running.delete(id)
  }

  async #eraseAll(running: RunningErasure, subject: string): Promise<void> {
    const { hooks } = this.#parts
    const { signal } = this.#closing
    const found = (): number => running.current.erased + running.marked
    let unsettled: readonly string[] = []
    for (let searches = 1; !signal.aborted; searches++) {
      const before = found()
      unsettled = await this.#eraseFound(running, subject)
      if (unsettled.length === 0 ? found() === before || searches >= mostSearches : searches >= mostUnsettled) break
      if (unsettled.length > 0) await wait(this.#times.searchMs, undefined, { signal }).catch(() => undefined)
    }
    // An incomplete search stays `running`, so that the leader marks the erasure as failed.
    if (signal.aborted) return
    let elsewhere = 0
    const failed = running.current.error === null ? [] : [running.current.error]
    if (unsettled.length > 0) failed.push(unsettledText(unsettled))
    const { names, problems } = await namesOf(subject, hooks.nameSubject)
    failed.push(...problems)
    for (const name of names) {
      for (const [plugin, count] of await hooks.eraseSubject.call(name)) {
        if (count instanceof Error) failed.push(`the plugin ${plugin} did not erase its part: ${count.message}`)
        else elsewhere += count
      }
    }
    // The error is stored now, so that the erasure also fails if another process resumes it.
    await this.#save(running, { elsewhere, error: failed.length === 0 ? null : failed.join('; ').slice(0, 500) })
    await this.#awaitPending(running)
  }

  /** Returns the names of the queues that could not be read completely. */
  async #eraseFound(running: RunningErasure, subject: string): Promise<readonly string[]> {
    const { erasures, jobs } = this.#parts
    const { id } = running.current
    const unsettled = new Set<string>()
    for await (const { queue, jobs: ids, schedules, unsettled: changes } of jobs.find(subject, this.#closing.signal)) {
      if (changes === true) unsettled.add(queue)
      await this.#eraseSchedules(running, queue, schedules)
      await erasures.addPending(
        id,
        (await this.#purge(running, queue, ids)).map((job) => ({ queue, job })),
      )
    }
    return [...unsettled]
  }

  /** Erases pending jobs as they end, and the dead letters of those that failed permanently. */
  async #awaitPending(running: RunningErasure): Promise<void> {
    const { copies, erasures, log } = this.#parts
    const { id } = running.current
    for (let pending = await erasures.pending(id); pending.length > 0; pending = await erasures.pending(id)) {
      const awaited = byQueue(pending)
      await this.#scrub()
      await this.#eraseEnded(running, awaited)
      // The jobs stay pending, so that another process also looks for their dead letters.
      if (this.#closing.signal.aborted) return
      for (const [queue, ids] of awaited) await erasures.removePending(id, queue, ids)
    }
    if (this.#closing.signal.aborted) return
    await this.#scrub()
    // A copy from before has another value from now on.
    await copies.keepUp()
    const { error } = running.current
    if (error !== null) log.warn({ erasure: id }, `erasure ${id} failed: ${error}`)
    await this.#save(running, { state: error === null ? 'completed' : 'failed', pending: 0 })
  }

  /** Waits until jobs have ended, and erases them and their dead letters. Returns early when the app is stopping. */
  async #eraseEnded(running: RunningErasure, awaited: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const { signal } = this.#closing
    const { clock, log, queues } = this.#parts
    const left = new Map(awaited)
    const looks = new LostJobs(this.#times.lostMs)
    while (left.size > 0) {
      const pending = [...left.values()].reduce((sum, ids) => sum + ids.length, 0)
      await this.#save(running, { state: 'waiting', pending })
      await wait(this.#times.pendingMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      for (const [queue, ids] of left) {
        let busy = await this.#purge(running, queue, ids)
        const unlocked: string[] = []
        for (let from = 0; from < busy.length; from += purgedAtOnce)
          unlocked.push(...(await queues.unlocked(queue, busy.slice(from, from + purgedAtOnce))))
        const lost = looks.lostOf(queue, busy, unlocked, clock.monotonic())
        if (lost.length > 0) {
          log.warn({ erasure: running.current.id, queue, jobs: lost.slice(0, 10) }, `${lost.length} jobs whose process ended are erased`)
          const still = await this.#purge(running, queue, lost, { unlocked: true })
          busy = [...busy.filter((job) => !lost.includes(job)), ...still]
        }
        if (busy.length > 0) left.set(queue, busy)
        else left.delete(queue)
      }
    }
    await wait(this.#times.deadLetterMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    // Purges again, for data that plugins on other nodes stored about the last attempts meanwhile.
    for (const [queue, ids] of awaited) await this.#purge(running, queue, ids)
    const deadLetters = new Set([...awaited.keys()].map(deadLettersOf))
    for await (const step of this.#parts.jobs.deadLetters(running.digests, deadLetters)) {
      await this.#purge(running, step.queue, step.jobs)
    }
  }

  async #scrub(): Promise<void> {
    await this.#parts.queues.scrub()
    await this.#parts.scrubDatabase()
  }

  /** Removes those of some jobs that name the subject; returns the ids of those that remain because they are running. */
  async #purge(
    running: RunningErasure,
    queue: string,
    ids: readonly string[],
    options: { readonly unlocked?: boolean } = {},
  ): Promise<readonly string[]> {
    const { clock, index, stored } = this.#parts
    const { digests } = running
    const left: string[] = []
    for (let from = 0; from < ids.length; from += purgedAtOnce) {
      const some = ids.slice(from, from + purgedAtOnce)
      // First: a producer that adds one of them after it was not found there sees this.
      running.marked += await index.markErased(queue, some, digests, clock.now())
      const { removed, running: busy } = await stored.purge(queue, some, digests, options)
      left.push(...busy)
      // First, because they are gone, whatever fails next.
      await this.#save(running, { erased: running.current.erased + removed.length })
      if (removed.length > 0) await index.removeErased(queue, removed, digests)
    }
    return left
  }

  async #eraseSchedules(running: RunningErasure, queue: string, schedules: readonly string[]): Promise<void> {
    const { clock, index, stored } = this.#parts
    const { digests } = running
    for (const schedule of schedules) {
      const row = scheduleRow(schedule)
      running.marked += await index.markErased(queue, [row], digests, clock.now())
      if (!(await stored.purgeSchedule(queue, schedule, digests))) continue
      await this.#save(running, { erased: running.current.erased + 1 })
      await index.removeErased(queue, [row], digests)
    }
  }

  async #save(running: RunningErasure, changes: Partial<Erasure>): Promise<void> {
    const { clock, erasures } = this.#parts
    const current: Erasure = { ...running.current, ...changes, updatedAt: new Date(clock.now()).toISOString() }
    running.current = current
    running.saved = running.saved.catch(() => undefined).then(() => erasures.save(current, running.digests))
    await running.saved
  }
}

function isOpen({ state }: Erasure): boolean {
  return state === 'running' || state === 'waiting'
}

/** Describes the progress of an erasure for the audit log, without error messages. */
export function erasureText({ elsewhere, erased, id, pending, state }: Erasure): string {
  const left = state === 'waiting' ? `, still running: ${pending}` : ''
  return `erasure ${id} ${state}; jobs and schedules: ${erased}, other records: ${elsewhere}${left}`
}
