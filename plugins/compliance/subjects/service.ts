import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type ActionFacts, messageOf } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { Erasure } from '../store/erasures.js'
import { type ShownErasure, shownErasure } from './awaited.js'
import { type Declarations, isSubject } from './declared.js'
import { lostText, type SubjectDigests } from './digest.js'
import { subjectErrors } from './errors.js'
import { exportSubject } from './export.js'
import { defaultTimes, type ErasureParts, type ErasureTimes, RunningErasure } from './running.js'

export interface SubjectsParts extends ErasureParts {
  readonly enabled: boolean
  readonly digests: SubjectDigests
  readonly declarations: Declarations
  /** Runs a management action, which plugins can refuse and record. */
  readonly manage: Manage
  /** Records the outcome of an erasure that continued after its request. */
  readonly onEnded: (erasure: Erasure) => void
  readonly times?: Partial<ErasureTimes>
}

/** An erasure of this process, and its end. */
interface Started {
  readonly erasure: RunningErasure
  readonly ended: Promise<void>
}

type Manage = <T>(
  action: { readonly action: string; readonly target: string },
  work: (note: (facts: ActionFacts) => void) => Promise<T>,
) => Promise<T>

/** An erasure that was not updated for this long is considered abandoned by its process, in ms. */
const abandonedMs = 15_000
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
  readonly #running = new Map<string, Started>()

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
    const same = [...this.#running.values()].find(
      ({ erasure: { current } }) => current.state === 'running' && current.subject === digests.of(subject),
    )
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
    const started = this.#start(this.#erasureOf(erasure, all), async (running) => {
      await erasures.save(erasure, all)
      await running.eraseAll(subject)
    })
    const responded = await this.#awaited(started, waitMs)
    if (isOpen(responded)) void started.ended.then(() => this.#recordEnd(started.erasure.current))
    return responded
  }

  /** Waits for the end of an erasure, up to `waitMs`. */
  async #awaited({ ended, erasure }: Started, waitMs: number): Promise<Erasure> {
    await Promise.race([ended, wait(waitMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined)])
    return erasure.current
  }

  #erasureOf(erasure: Erasure, digests: readonly string[]): RunningErasure {
    return new RunningErasure(erasure, digests, { parts: this.#parts, times: this.#times, signal: this.#closing.signal })
  }

  #start(erasure: RunningErasure, work: (erasure: RunningErasure) => Promise<void>): Started {
    const { id } = erasure.current
    const started = { erasure, ended: erasure.run(() => work(erasure)).then(() => void this.#running.delete(id)) }
    this.#running.set(id, started)
    return started
  }

  /** Returns the progress of an erasure. 404 ERASURE_NOT_FOUND. */
  async erasure(id: string): Promise<ShownErasure> {
    const found = this.#running.get(id)?.erasure.current ?? (await this.#parts.erasures.get(id))
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
        const failed = this.#erasureOf(erasure, digests)
        await failed.save({ state: 'failed', error: interrupted })
        this.#recordEnd(failed.current)
        continue
      }
      const resumed = this.#erasureOf(erasure, digests)
      const { ended } = this.#start(resumed, () => resumed.awaitPending())
      void ended.then(() => this.#recordEnd(resumed.current))
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
}

function isOpen({ state }: Erasure): boolean {
  return state === 'running' || state === 'waiting'
}

/** Describes the progress of an erasure for the audit log, without error messages. */
export function erasureText({ elsewhere, erased, id, pending, state }: Erasure): string {
  const left = state === 'waiting' ? `, still running: ${pending}` : ''
  return `erasure ${id} ${state}; jobs and schedules: ${erased}, other records: ${elsewhere}${left}`
}
