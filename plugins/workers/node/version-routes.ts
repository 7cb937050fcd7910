import type { Job } from 'bullmq'
import { type Logger, messageOf } from 'zin'
import { workerErrors } from '../errors.js'

/**
 * Returns the version that runs an attempt; undefined for the active one. It is called for every attempt, so it must be fast. It should
 * return the same version for every attempt of a job; otherwise a retry may run with another version.
 */
// biome-ignore lint/suspicious/noExplicitAny: the payload is the app's
export type VersionRoute = (job: Job<any>) => string | undefined

interface Entry {
  readonly route: VersionRoute
  /** Warnings that were logged already. */
  readonly logged: Set<string>
  fallbacks: number
}

/** Maximum number of different warnings per route; further ones are only counted. */
const mostLogged = 20

/** The version routes of this node, which choose the version for each job of a worker. */
export class VersionRoutes {
  readonly #log: Logger
  readonly #entries = new Map<string, Entry>()

  constructor(log: Logger) {
    this.#log = log
  }

  add(worker: string, route: VersionRoute): () => void {
    if (this.#entries.has(worker)) throw workerErrors.VERSIONS_ROUTED(worker)
    const entry: Entry = { route, logged: new Set(), fallbacks: 0 }
    this.#entries.set(worker, entry)
    return () => {
      if (this.#entries.get(worker) === entry) this.#entries.delete(worker)
    }
  }

  /** Number of attempts that ran with the active version because the route failed or chose a version that is not loaded here. */
  fallbacks(worker: string): number {
    return this.#entries.get(worker)?.fallbacks ?? 0
  }

  /**
   * Returns the version that runs a job.
   *
   * @param loaded finds a loaded candidate by version.
   */
  choose<T extends { readonly version: string }>(worker: string, job: Job, active: T, loaded: (version: string) => T | undefined): T {
    const entry = this.#entries.get(worker)
    if (entry === undefined) return active
    let version: string | undefined
    try {
      version = entry.route(job)
    } catch (error) {
      return this.#fallBack(worker, entry, active, `its route failed: ${messageOf(error)}`)
    }
    if (version === undefined || version === active.version) return active
    return (
      loaded(version) ??
      this.#fallBack(worker, entry, active, `its route chose version ${String(version)}, which is not loaded on this node`)
    )
  }

  #fallBack<T extends { readonly version: string }>(worker: string, entry: Entry, active: T, why: string): T {
    entry.fallbacks++
    if (entry.logged.size < mostLogged && !entry.logged.has(why)) {
      entry.logged.add(why)
      this.#log.warn({ worker, version: active.version }, `worker "${worker}" falls back to its active version ${active.version}: ${why}`)
    }
    return active
  }
}
