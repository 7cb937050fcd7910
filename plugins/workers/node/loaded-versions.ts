import type { Counters } from './counters.js'
import type { LoadedVersion } from './version.js'

/** The version of a worker that takes new jobs in this process, and replaced ones that still run some. */
export class LoadedVersions {
  readonly #counters: Counters
  #active: LoadedVersion | undefined
  readonly #draining = new Set<LoadedVersion>()

  constructor(counters: Counters) {
    this.#counters = counters
  }

  /** Takes new jobs. */
  get active(): LoadedVersion | undefined {
    return this.#active
  }

  /** A replaced version that is still loaded. */
  replaced(version: string): LoadedVersion | undefined {
    return [...this.#draining].find((loaded) => loaded.version === version)
  }

  /** Gives new jobs to this one from now on; the one before ends its jobs. */
  activate(next: LoadedVersion): void {
    this.#draining.delete(next)
    if (this.#active !== undefined) this.#draining.add(this.#active)
    this.#active = next
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
    const loaded = [...this.#draining, ...(this.#active === undefined ? [] : [this.#active])]
    this.#draining.clear()
    this.#active = undefined
    await Promise.all(loaded.map((version) => version.processor.close()))
  }
}
