import type { Processors } from '../processors/processors.js'
import { actingConcurrency } from '../record/scaled.js'
import type { CandidateStatus } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import type { Counters } from './counters.js'
import { statusError } from './status-error.js'
import { type LoadedVersion, loadHealthyVersion, loadVersion } from './version.js'

/** Why the requested version does not run. */
export interface Refusal {
  readonly error: unknown
}

/** A version besides the active one: either loaded, or with the error that prevented that. */
interface Candidate {
  readonly loaded?: LoadedVersion
  readonly error?: unknown
  /** Generation of the worker that it was loaded for. */
  readonly generation: number
}

/** The version of a worker that takes new jobs on this node, its candidates, and replaced versions that still run jobs. */
export class LoadedVersions {
  readonly #counters: Counters
  readonly #processors: Processors
  #active: LoadedVersion | undefined
  /** The version that took new jobs last, even if the worker was stopped since. */
  #last: string | undefined
  readonly #draining = new Set<LoadedVersion>()
  /** By version. */
  readonly #candidates = new Map<string, Candidate>()

  constructor(counters: Counters, processors: Processors) {
    this.#counters = counters
    this.#processors = processors
  }

  /** The version that takes new jobs. */
  get active(): LoadedVersion | undefined {
    return this.#active
  }

  /**
   * Loads a version, or the previous one if that fails, so that a node that starts during a bad rollout still runs jobs.
   *
   * @param options.gate whether the health check must pass first, because the version was refused before or replaces another one.
   */
  async begin(
    worker: StoredWorker,
    version: string,
    { gate, signal }: { readonly gate: boolean; readonly signal: AbortSignal },
  ): Promise<Refusal | undefined> {
    const { previousVersion } = worker.desired
    const replaces = this.#last !== undefined && this.#last !== version
    const load = (gate || replaces) && version !== previousVersion ? loadHealthyVersion : loadVersion
    try {
      this.#activate(await load(worker, version, this.#processors, signal))
      return undefined
    } catch (error) {
      if (signal.aborted || previousVersion === null || previousVersion === version) throw error
      // If neither can be loaded, the reason is that of the version that should run.
      const previous = await loadVersion(worker, previousVersion, this.#processors, signal).catch(() => undefined)
      if (previous === undefined) throw error
      this.#activate(previous)
      return { error }
    }
  }

  /**
   * Switches new jobs to another version if it is healthy; the current one finishes its running jobs. A version that is still draining
   * is reused, so a rollback loads nothing.
   */
  async change(worker: StoredWorker, version: string, signal: AbortSignal): Promise<void> {
    const again = this.candidate(version) ?? this.#drainingOne(version)
    this.#candidates.delete(version)
    again?.processor.resize(actingConcurrency(worker.record))
    this.#activate(again ?? (await loadHealthyVersion(worker, version, this.#processors, signal)))
  }

  /** Returns a candidate, if it is loaded. */
  candidate(version: string): LoadedVersion | undefined {
    return this.#candidates.get(version)?.loaded
  }

  /** Loads the healthy candidates of a worker, and drains versions that are no longer candidates. */
  async keepCandidates(worker: StoredWorker, signal: AbortSignal): Promise<void> {
    const wanted = new Set((worker.desired.candidates ?? []).filter((version) => version !== this.#active?.version))
    for (const [version, { loaded }] of this.#candidates) {
      if (wanted.has(version)) continue
      this.#candidates.delete(version)
      if (loaded !== undefined) this.#draining.add(loaded)
    }
    for (const version of wanted) {
      const known = this.#candidates.get(version)
      // A candidate that could not be loaded is retried once the worker has changed.
      if (known?.loaded !== undefined || known?.generation === worker.generation) continue
      this.#candidates.set(version, await this.#loadCandidate(worker, version, signal))
    }
  }

  /** The candidates as reported to other nodes. */
  candidates(): readonly CandidateStatus[] {
    return [...this.#candidates].map(([version, { error }]) => ({
      version,
      busy: this.#counters.inFlight(version),
      ...(error === undefined ? {} : { error: statusError(error) }),
    }))
  }

  resize(concurrency: number): void {
    this.#active?.processor.resize(concurrency)
    for (const { loaded } of this.#candidates.values()) loaded?.processor.resize(concurrency)
  }

  /** Number of jobs that replaced versions still run, by version. */
  busy(): Readonly<Record<string, number>> {
    const jobs = [...this.#draining].map(({ version }) => [version, this.#counters.inFlight(version)] as const)
    return Object.fromEntries(jobs.filter(([, count]) => count > 0))
  }

  /** Closes replaced versions that no longer run jobs. Returns whether there were any. */
  async closeDrained(): Promise<boolean> {
    const drained = [...this.#draining].filter(({ version }) => this.#counters.inFlight(version) === 0)
    for (const loaded of drained) this.#draining.delete(loaded)
    await Promise.all(drained.map((loaded) => loaded.processor.close()))
    return drained.length > 0
  }

  async closeAll(): Promise<void> {
    const candidates = [...this.#candidates.values()].flatMap(({ loaded }) => loaded ?? [])
    const loaded = [...this.#draining, ...candidates, ...(this.#active === undefined ? [] : [this.#active])]
    this.#draining.clear()
    this.#candidates.clear()
    this.#active = undefined
    await Promise.all(loaded.map((version) => version.processor.close()))
  }

  #drainingOne(version: string): LoadedVersion | undefined {
    return [...this.#draining].find((loaded) => loaded.version === version)
  }

  async #loadCandidate(worker: StoredWorker, version: string, signal: AbortSignal): Promise<Candidate> {
    const { generation } = worker
    const again = this.#drainingOne(version)
    if (again !== undefined) {
      this.#draining.delete(again)
      return { loaded: again, generation }
    }
    try {
      return { loaded: await loadHealthyVersion(worker, version, this.#processors, signal), generation }
    } catch (error) {
      if (signal.aborted) throw error
      return { error, generation }
    }
  }

  #activate(next: LoadedVersion): void {
    this.#draining.delete(next)
    if (this.#active !== undefined) this.#draining.add(this.#active)
    this.#active = next
    this.#last = next.version
  }
}
