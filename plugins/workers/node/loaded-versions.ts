import type { Processors } from '../processors/processors.js'
import { actingConcurrency } from '../record/scaled.js'
import type { CandidateStatus } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import type { Counters } from './counters.js'
import { statusError } from './status-error.js'
import { type LoadedVersion, loadHealthyVersion, loadVersion } from './version.js'

/** Why the wanted version does not run. */
export interface Refusal {
  readonly error: unknown
}

/** A version beside the active one: it is loaded, or an error says why not. */
interface Candidate {
  readonly loaded?: LoadedVersion
  readonly error?: unknown
  /** Of the worker that it was loaded for. */
  readonly generation: number
}

/** The version of a worker that takes new jobs in this process, and replaced ones that still run some. */
export class LoadedVersions {
  readonly #counters: Counters
  readonly #processors: Processors
  #active: LoadedVersion | undefined
  /** The one that took new jobs last, also before a stop. */
  #last: string | undefined
  readonly #draining = new Set<LoadedVersion>()
  /** Beside the active one, by version. */
  readonly #candidates = new Map<string, Candidate>()

  constructor(counters: Counters, processors: Processors) {
    this.#counters = counters
    this.#processors = processors
  }

  /** Takes new jobs. */
  get active(): LoadedVersion | undefined {
    return this.#active
  }

  /**
   * Loads a version, else the one before it: a process that begins amid a bad rollout works on.
   *
   * @param options.gate its health check must pass first: it was refused before, or replaces another one.
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
      this.#activate(await loadVersion(worker, previousVersion, this.#processors, signal))
      return { error }
    }
  }

  /**
   * Gives new jobs to another version when it is healthy; the one before ends its jobs. One that is still draining comes back as it
   * is: a rollback loads nothing.
   */
  async change(worker: StoredWorker, version: string, signal: AbortSignal): Promise<void> {
    const again = this.candidate(version) ?? this.#drainingOne(version)
    this.#candidates.delete(version)
    again?.processor.resize(actingConcurrency(worker.record))
    this.#activate(again ?? (await loadHealthyVersion(worker, version, this.#processors, signal)))
  }

  /** A version that is loaded beside the active one. */
  candidate(version: string): LoadedVersion | undefined {
    return this.#candidates.get(version)?.loaded
  }

  /** Loads the candidates of a worker that are healthy, and lets those end their jobs that are candidates no longer. */
  async keepCandidates(worker: StoredWorker, signal: AbortSignal): Promise<void> {
    const wanted = new Set((worker.desired.candidates ?? []).filter((version) => version !== this.#active?.version))
    for (const [version, { loaded }] of this.#candidates) {
      if (wanted.has(version)) continue
      this.#candidates.delete(version)
      if (loaded !== undefined) this.#draining.add(loaded)
    }
    for (const version of wanted) {
      const known = this.#candidates.get(version)
      // One that could not be loaded is tried again when somebody has changed the worker.
      if (known?.loaded !== undefined || known?.generation === worker.generation) continue
      this.#candidates.set(version, await this.#loadCandidate(worker, version, signal))
    }
  }

  /** As other nodes are told. */
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

  /** Jobs that replaced versions still run, by version. */
  busy(): Readonly<Record<string, number>> {
    const jobs = [...this.#draining].map(({ version }) => [version, this.#counters.inFlight(version)] as const)
    return Object.fromEntries(jobs.filter(([, count]) => count > 0))
  }

  /** Closes replaced versions that run no jobs any more; true when there were any. */
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
