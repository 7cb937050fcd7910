import type { Job } from 'bullmq'
import { hiddenMessage } from 'zin/plugins/decisions'
import type { AttemptEnd, JobContext } from 'zin/plugins/workers'
import { isDeferral } from 'zin/plugins/workers'
import { addError } from './failures/error-counts.js'
import { normalizeError } from './failures/normalize-error.js'
import {
  type Arm,
  addAttempt,
  type Evidence,
  emptyEvidence,
  type FirstAttempt,
  maxStrata,
  routeOf,
  stratumOf,
  wantsEarlyLook,
} from './judge/index.js'
import { isServing, shareNow } from './machine.js'
import type { CanaryRecord } from './record.js'
import { stickyKey } from './sticky-key.js'
import { type Casualty, mostCasualties } from './store/contract.js'

/** Slow attempts of the new version count after this many of its jobs, or this long after it was loaded. */
const warmUp = { jobs: 20, ms: 30_000 }
/** How long casualties that were stored before an operator replayed them are left to that request, in ms. */
const graceMs = 15_000
/** Maximum number of routed attempts that a process remembers; more than the running ones could only remain after a queue fault. */
const mostRouted = 10_000

interface Routed {
  readonly arm: Arm
  readonly bucket: number
  readonly step: number
  shielded: boolean
  /** What it failed with, if the job was shielded. */
  error?: unknown
}

export interface ObserverParts {
  /** Monotonic time in ms. */
  readonly now: () => number
  /** Time in ms since 1970. */
  readonly date: () => number
  /** Whether errors of jobs are encrypted; then only their classes are counted. */
  readonly hidesErrors: () => boolean
  /** Called when consecutive jobs of the new version failed. */
  readonly onAlarm: () => void
  readonly onCasualty: () => void
}

/** One canary in this process: routes jobs to its versions and counts the outcomes of their first attempts. */
export class Observer {
  #record: CanaryRecord
  readonly #parts: ObserverParts
  /** Evidence by step; only the last one changes. */
  readonly #evidence = new Map<number, Evidence>()
  readonly #dirty = new Set<number>()
  readonly #routed = new Map<string, Routed>()
  /** Running attempts on the new version. */
  readonly #running = new Set<JobContext>()
  readonly #names: string[] = []
  #casualties: readonly Casualty[] = []
  #casualtiesDirty = false
  /** How many of the casualties are stored. */
  #stored = 0
  /** Set when an operator replays the stored casualties: how many these were here, and when. */
  #replay: { readonly stored: number; readonly at: number } | undefined
  readonly #replayed = new Set<Casualty>()
  #canaryJobs = 0
  #before: 'none' | 'ok' | 'bad' = 'none'
  readonly #since: number
  /** Whether this process runs both versions, known from the last job that was routed to the canary. */
  #servesBoth = true

  constructor(record: CanaryRecord, parts: ObserverParts) {
    this.#record = record
    this.#parts = parts
    this.#since = parts.now()
  }

  get record(): CanaryRecord {
    return this.#record
  }

  /** Whether jobs routed to the new version still run here, evidence is not stored yet, or casualties are due to be replayed. */
  get busy(): boolean {
    if (this.#casualtiesDirty || this.#dirty.size > 0 || this.#unreplayed.length > 0) return true
    return [...this.#routed.values()].some(({ arm }) => arm === 'canary')
  }

  /** Applies a later generation of the record. */
  follow(record: CanaryRecord): void {
    if (record.id !== this.#record.id || record.generation <= this.#record.generation) return
    const served = isServing(this.#record)
    this.#record = record
    if (record.replaysLater === true) this.#replay ??= { stored: this.#stored, at: this.#parts.now() }
    const aborts = served && !isServing(record) && record.state !== 'SUCCEEDED' && record.spec.inFlight === 'abort'
    if (aborts) for (const attempt of this.#running) attempt.putBack(`the canary of version ${record.canary} is rolled back`)
  }

  /** Returns the version that runs an attempt; undefined for the active version. */
  readonly route = (job: Job): string | undefined => {
    const record = this.#record
    // Jobs that were attempted before, even if that attempt was lost, continue on the stable version.
    if (!isServing(record) || job.attemptsStarted > 1 || job.attemptsMade > 0) return undefined
    const { bucket, share } = routeOf(record.id, stickyKey(job, record.spec.stickyBy))
    const arm: Arm = share < shareNow(record) ? 'canary' : 'stable'
    if (this.#routed.size >= mostRouted) this.#routed.delete(this.#routed.keys().next().value as string)
    this.#routed.set(job.id ?? '', { arm, bucket, step: record.step, shielded: false })
    return arm === 'canary' ? record.canary : undefined
  }

  /** Wraps attempts on the new version, for `shield` and `inFlight: 'abort'`. */
  readonly wrap = (context: JobContext, next: () => Promise<unknown>): Promise<unknown> => {
    const { canary, worker } = this.#record
    return context.worker === worker && context.version === canary ? this.#runOnVersion(context, next) : next()
  }

  async #runOnVersion(context: JobContext, next: () => Promise<unknown>): Promise<unknown> {
    const { canary, spec } = this.#record
    const routed = this.#routed.get(context.job.id ?? '')
    this.#running.add(context)
    try {
      return await next()
    } catch (error) {
      if (spec.shield && routed !== undefined && !isDeferral(error) && !context.signal.aborted) {
        routed.shielded = true
        routed.error = error
        context.putBack(`version ${canary} failed the job; it is requeued for the stable version`)
      }
      throw error
    } finally {
      this.#running.delete(context)
    }
  }

  readonly end = (end: AttemptEnd): void => {
    const { canary, stable } = this.#record
    const routed = this.#routed.get(end.job.id)
    this.#routed.delete(end.job.id)
    const outcome = routed?.shielded === true ? 'failed' : outcomes[end.outcome]
    const onCanary = end.version === canary
    const isBad = outcome === 'failed' || outcome === 'lost'
    if (onCanary && end.final && isBad) this.#addCasualty(end)
    if (isBad && (onCanary || end.version === stable)) this.#addError(onCanary ? 'canary' : 'stable', end, routed)
    if (outcome === undefined) return
    if (routed === undefined) {
      // The attempt was routed by another process and lost with it. Attempts on the stable version are ignored: they may have been retries.
      if (onCanary && end.node === null) this.#add('canary', routeOf(this.#record.id, end.job.id).bucket, this.#record.step, end, outcome)
      return
    }
    if (routed.arm === 'canary') this.#servesBoth = onCanary
    if (!this.#servesBoth || (routed.arm === 'stable' && end.version !== stable)) return
    this.#add(routed.arm, routed.bucket, routed.step, end, outcome)
  }

  /** Returns the evidence of the steps that changed since the last call. */
  takeEvidence(): readonly { readonly step: number; readonly evidence: Evidence }[] {
    const changed = [...this.#dirty].map((step) => ({ step, evidence: this.#evidence.get(step) ?? emptyEvidence() }))
    this.#dirty.clear()
    return changed
  }

  /** Returns all casualties if there are new ones, else undefined. */
  takeCasualties(): readonly Casualty[] | undefined {
    if (!this.#casualtiesDirty) return undefined
    this.#casualtiesDirty = false
    return this.#casualties
  }

  /** Returns casualties to replay after a rollback, with `autoReplay` or on request, except those passed to `replayed`. */
  dueReplays(): readonly Casualty[] {
    const replay = this.#replay
    if (replay === undefined || this.#record.spec.autoReplay) return this.#unreplayed
    const left = this.#parts.now() - replay.at < graceMs ? new Set(this.#casualties.slice(0, replay.stored)) : undefined
    return this.#unreplayed.filter((casualty) => left?.has(casualty) !== true)
  }

  get #unreplayed(): readonly Casualty[] {
    const { spec, state } = this.#record
    if (state !== 'ROLLED_BACK' || !(spec.autoReplay || this.#replay !== undefined)) return []
    return this.#casualties.filter((casualty) => !this.#replayed.has(casualty))
  }

  /** Called with what `takeCasualties` returned, once it is stored. */
  stored(casualties: readonly Casualty[]): void {
    this.#stored = casualties.length
  }

  /** Marks a casualty that needs no further replay. */
  readonly replayed = (casualty: Casualty): void => {
    this.#replayed.add(casualty)
  }

  /** Marks evidence that could not be stored, so that it is stored again. */
  putBack(steps: readonly number[], casualties: boolean): void {
    for (const step of steps) this.#dirty.add(step)
    if (casualties) this.#casualtiesDirty = true
  }

  /** Returns the evidence of a step, to be changed. */
  #of(step: number): Evidence {
    const evidence = this.#evidence.get(step) ?? emptyEvidence()
    this.#evidence.set(step, evidence)
    this.#dirty.add(step)
    return evidence
  }

  /** Retries count too: a job that succeeds in the end leaves no other trace of its error. */
  #addError(arm: Arm, { error, job }: AttemptEnd, routed: Routed | undefined): void {
    const evidence = this.#of(routed?.step ?? this.#record.step)
    evidence.errors ??= { stable: [], canary: [] }
    const normal = normalizeError(routed?.error ?? error)
    addError(evidence.errors, arm, this.#parts.hidesErrors() ? { ...normal, message: hiddenMessage } : normal, job.id)
  }

  #add(arm: Arm, bucket: number, step: number, end: AttemptEnd, outcome: FirstAttempt['outcome']): void {
    const evidence = this.#of(step)
    const stratum = this.#stratumOf(end.job.name)
    addAttempt(evidence, { step, arm, stratum, bucket, outcome, slow: this.#slow(arm, end), at: this.#parts.date() })
    if (arm !== 'canary') return
    this.#canaryJobs++
    const current = outcome === 'ok' ? 'ok' : 'bad'
    const alarm = wantsEarlyLook(this.#before, current)
    this.#before = current
    if (alarm) this.#parts.onAlarm()
  }

  #slow(arm: Arm, { outcome, runMs }: AttemptEnd): boolean | undefined {
    const { slowMs } = this.#record
    if (slowMs === null || (outcome !== 'completed' && outcome !== 'timedOut')) return undefined
    const isCold = this.#canaryJobs < warmUp.jobs && this.#parts.now() - this.#since < warmUp.ms
    return arm === 'canary' && isCold ? undefined : runMs > slowMs
  }

  /** The first job names seen in this process are compared separately. */
  #stratumOf(name: string): string {
    if (this.#names.length < maxStrata && !this.#names.includes(name)) this.#names.push(name)
    return stratumOf(this.#names, name)
  }

  #addCasualty({ job }: AttemptEnd): void {
    if (this.#casualties.length >= mostCasualties) return
    this.#casualties = [...this.#casualties, { queue: job.queue, id: job.id, at: Date.now() }]
    this.#casualtiesDirty = true
    this.#parts.onCasualty()
  }
}

/** Outcomes by attempt outcome; undefined if it is not evidence about the version. */
const outcomes: Readonly<Record<AttemptEnd['outcome'], FirstAttempt['outcome'] | undefined>> = {
  completed: 'ok',
  failed: 'failed',
  lost: 'lost',
  timedOut: 'lost',
  cancelled: undefined,
  deferred: undefined,
}
