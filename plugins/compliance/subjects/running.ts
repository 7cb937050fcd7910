import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, type Logger, messageOf, type SlotOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import type { ComplianceHooks } from '../hooks.js'
import type { Erasure, Erasures } from '../store/erasures.js'
import type { SubjectIndex } from '../store/subject-index.js'
import { byQueue, LostJobs } from './awaited.js'
import { deadLettersOf } from './declared.js'
import { type SubjectJobs, unsettledText } from './find.js'
import { scheduleRow } from './index-jobs.js'
import { namesOf } from './names.js'
import type { StoreCopies } from './store-copies.js'
import type { StoredSubjects } from './stored.js'

export interface ErasureParts {
  readonly queues: Queues
  readonly jobs: SubjectJobs
  readonly copies: Pick<StoreCopies, 'keepUp'>
  readonly stored: StoredSubjects
  readonly index: SubjectIndex
  readonly erasures: Erasures
  readonly hooks: { readonly [K in keyof ComplianceHooks]: SlotOf<ComplianceHooks[K]> }
  /** Overwrites remains of deleted rows in the files of the database. */
  readonly scrubDatabase: () => Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** Times of an erasure, in ms. */
export interface ErasureTimes {
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

export const defaultTimes: ErasureTimes = { pendingMs: 1_000, lostMs: 30_000, deadLetterMs: 3_000, searchMs: 2_000, heartbeatMs: 5_000 }
const purgedAtOnce = 100
/** Limit on the searches of an erasure: each finds what was copied or added while the one before was erasing. */
const mostSearches = 5
/** Limit on the searches while queues change faster than they can be read. */
const mostUnsettled = 30

/** An erasure that this process runs. */
export class RunningErasure {
  readonly #parts: ErasureParts
  readonly #times: ErasureTimes
  readonly #signal: AbortSignal
  /** The digests of its subject under all keys. */
  readonly #digests: readonly string[]
  #current: Erasure
  /** Index entries that this erasure was the first to mark. */
  #marked = 0
  /** The last write; writes run sequentially. */
  #saved = Promise.resolve()

  /** @param signal aborted when the app is stopping. */
  constructor(
    erasure: Erasure,
    digests: readonly string[],
    { parts, signal, times }: { readonly parts: ErasureParts; readonly times: ErasureTimes; readonly signal: AbortSignal },
  ) {
    this.#current = erasure
    this.#digests = digests
    this.#parts = parts
    this.#times = times
    this.#signal = signal
  }

  get current(): Erasure {
    return this.#current
  }

  /** Does work for the erasure, keeps it from being considered abandoned meanwhile, and fails it if the work fails. Never rejects. */
  async run(work: () => Promise<void>): Promise<void> {
    const { id } = this.#current
    const heartbeat = setInterval(() => void this.save({}).catch(() => undefined), this.#times.heartbeatMs).unref()
    try {
      await work()
    } catch (error) {
      this.#parts.log.warn({ err: error, erasure: id }, `erasure ${id} failed: ${messageOf(error)}`)
      await this.save({ state: 'failed', error: messageOf(error).slice(0, 500) }).catch(() => undefined)
    } finally {
      clearInterval(heartbeat)
    }
  }

  async eraseAll(subject: string): Promise<void> {
    const signal = this.#signal
    const found = (): number => this.#current.erased + this.#marked
    let unsettled: readonly string[] = []
    for (let searches = 1; !signal.aborted; searches++) {
      const before = found()
      unsettled = await this.#eraseFound(subject)
      if (unsettled.length === 0 ? found() === before || searches >= mostSearches : searches >= mostUnsettled) break
      if (unsettled.length > 0) await wait(this.#times.searchMs, undefined, { signal }).catch(() => undefined)
    }
    // An incomplete search stays `running`, so that the leader marks the erasure as failed.
    if (signal.aborted) return
    const failed = this.#current.error === null ? [] : [this.#current.error]
    if (unsettled.length > 0) failed.push(unsettledText(unsettled))
    const { names, problems } = await namesOf(subject, this.#parts.hooks.nameSubject)
    const { count, problems: left } = await this.#eraseElsewhere(names, problems)
    failed.push(...problems, ...left)
    // The error is stored now, so that the erasure also fails if another process resumes it.
    await this.save({ elsewhere: count, error: failed.length === 0 ? null : failed.join('; ').slice(0, 500) })
    await this.awaitPending()
  }

  /** Lets the plugins erase their records. What leads from one name to the others is kept until all of them have succeeded. */
  async #eraseElsewhere(names: readonly string[], unnamed: readonly string[]): Promise<{ count: number; problems: readonly string[] }> {
    const { eraseSubject, forgetSubject } = this.#parts.hooks
    const problems = new Set<string>()
    let count = 0
    for (const slot of [eraseSubject, forgetSubject]) {
      // Those that were found by another name first, so that the subject leads to the names that are left.
      for (const name of names.toReversed()) {
        if (slot === forgetSubject && unnamed.length + problems.size > 0) break
        for (const [plugin, erased] of await slot.call(name)) {
          if (erased instanceof Error) problems.add(`the plugin ${plugin} did not erase its part: ${erased.message}`)
          else count += erased
        }
      }
    }
    return { count, problems: [...problems] }
  }

  /** Returns the names of the queues that could not be read completely. */
  async #eraseFound(subject: string): Promise<readonly string[]> {
    const { erasures, jobs } = this.#parts
    const { id } = this.#current
    const unsettled = new Set<string>()
    for await (const { queue, jobs: ids, schedules, unsettled: changes } of jobs.find(subject, this.#signal)) {
      if (changes === true) unsettled.add(queue)
      await this.#eraseSchedules(queue, schedules)
      await erasures.addPending(
        id,
        (await this.#purge(queue, ids)).map((job) => ({ queue, job })),
      )
    }
    return [...unsettled]
  }

  /** Erases pending jobs as they end, and the dead letters of those that failed permanently. */
  async awaitPending(): Promise<void> {
    const { copies, erasures, log } = this.#parts
    const { id } = this.#current
    for (let pending = await erasures.pending(id); pending.length > 0; pending = await erasures.pending(id)) {
      const awaited = byQueue(pending)
      await this.#scrub()
      await this.#eraseEnded(awaited)
      // The jobs stay pending, so that another process also looks for their dead letters.
      if (this.#signal.aborted) return
      for (const [queue, ids] of awaited) await erasures.removePending(id, queue, ids)
    }
    if (this.#signal.aborted) return
    await this.#scrub()
    // A copy from before has another value from now on.
    await copies.keepUp()
    const { error } = this.#current
    if (error !== null) log.warn({ erasure: id }, `erasure ${id} failed: ${error}`)
    await this.save({ state: error === null ? 'completed' : 'failed', pending: 0 })
  }

  /** Waits until jobs have ended, and erases them and their dead letters. Returns early when the app is stopping. */
  async #eraseEnded(awaited: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const signal = this.#signal
    const { clock, log, queues } = this.#parts
    const left = new Map(awaited)
    const looks = new LostJobs(this.#times.lostMs)
    while (left.size > 0) {
      const pending = [...left.values()].reduce((sum, ids) => sum + ids.length, 0)
      await this.save({ state: 'waiting', pending })
      await wait(this.#times.pendingMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      for (const [queue, ids] of left) {
        let busy = await this.#purge(queue, ids)
        const unlocked: string[] = []
        for (let from = 0; from < busy.length; from += purgedAtOnce)
          unlocked.push(...(await queues.unlocked(queue, busy.slice(from, from + purgedAtOnce))))
        const lost = looks.lostOf(queue, busy, unlocked, clock.monotonic())
        if (lost.length > 0) {
          log.warn({ erasure: this.#current.id, queue, jobs: lost.slice(0, 10) }, `${lost.length} jobs whose process ended are erased`)
          const still = await this.#purge(queue, lost, { unlocked: true })
          busy = [...busy.filter((job) => !lost.includes(job)), ...still]
        }
        if (busy.length > 0) left.set(queue, busy)
        else left.delete(queue)
      }
    }
    await wait(this.#times.deadLetterMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    // Purges again, for data that plugins on other nodes stored about the last attempts meanwhile.
    for (const [queue, ids] of awaited) await this.#purge(queue, ids)
    const deadLetters = new Set([...awaited.keys()].map(deadLettersOf))
    for await (const step of this.#parts.jobs.deadLetters(this.#digests, deadLetters)) {
      await this.#purge(step.queue, step.jobs)
    }
  }

  async #scrub(): Promise<void> {
    await this.#parts.queues.scrub()
    await this.#parts.scrubDatabase()
  }

  /** Removes those of some jobs that name the subject; returns the ids of those that remain because they are running. */
  async #purge(queue: string, ids: readonly string[], options: { readonly unlocked?: boolean } = {}): Promise<readonly string[]> {
    const { clock, index, stored } = this.#parts
    const digests = this.#digests
    const left: string[] = []
    for (let from = 0; from < ids.length; from += purgedAtOnce) {
      const some = ids.slice(from, from + purgedAtOnce)
      // First: a producer that adds one of them after it was not found there sees this.
      this.#marked += await index.markErased(queue, some, digests, clock.now())
      const { removed, running: busy } = await stored.purge(queue, some, digests, options)
      left.push(...busy)
      // First, because they are gone, whatever fails next.
      await this.save({ erased: this.#current.erased + removed.length })
      if (removed.length > 0) await index.removeErased(queue, removed, digests)
    }
    return left
  }

  async #eraseSchedules(queue: string, schedules: readonly string[]): Promise<void> {
    const { clock, index, stored } = this.#parts
    const digests = this.#digests
    for (const schedule of schedules) {
      const row = scheduleRow(schedule)
      this.#marked += await index.markErased(queue, [row], digests, clock.now())
      if (!(await stored.purgeSchedule(queue, schedule, digests))) continue
      await this.save({ erased: this.#current.erased + 1 })
      await index.removeErased(queue, [row], digests)
    }
  }

  async save(changes: Partial<Erasure>): Promise<void> {
    const { clock, erasures } = this.#parts
    const current: Erasure = { ...this.#current, ...changes, updatedAt: new Date(clock.now()).toISOString() }
    this.#current = current
    this.#saved = this.#saved.catch(() => undefined).then(() => erasures.save(current, this.#digests))
    await this.#saved
  }
}
