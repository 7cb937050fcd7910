import type { Job } from 'bullmq'
import { type Logger, messageOf } from 'zin'
import { workerErrors } from '../errors.js'

/**
 * Chooses the version that runs an attempt; undefined: the active one. It is called for each attempt, so it must be quick, and the same
 * for each attempt of a job, or a job that is tried again may change its version.
 */
// biome-ignore lint/suspicious/noExplicitAny: the payload is the app's
export type VersionRoute = (job: Job<any>) => string | undefined

interface Entry {
  readonly route: VersionRoute
  /** What was logged already. */
  readonly told: Set<string>
  fallbacks: number
}

/** More different complaints of one route are counted only. */
const mostTold = 20

/** The routes of this process: which version runs which job of a worker. */
export class VersionRoutes {
  readonly #log: Logger
  readonly #entries = new Map<string, Entry>()

  constructor(log: Logger) {
    this.#log = log
  }

  add(worker: string, route: VersionRoute): () => void {
    if (this.#entries.has(worker)) throw workerErrors.VERSIONS_ROUTED(worker)
    const entry: Entry = { route, told: new Set(), fallbacks: 0 }
    this.#entries.set(worker, entry)
    return () => {
      if (this.#entries.get(worker) === entry) this.#entries.delete(worker)
    }
  }

  /** Attempts of a worker that its route sent to a version that is not loaded here. */
  fallbacks(worker: string): number {
    return this.#entries.get(worker)?.fallbacks ?? 0
  }

  /** @param loaded finds a version that is loaded beside the active one; its answer, or `active`. */
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
      this.#fallBack(worker, entry, active, `version ${String(version)}, to which its route sends jobs, is not loaded here`)
    )
  }

  #fallBack<T extends { readonly version: string }>(worker: string, entry: Entry, active: T, why: string): T {
    entry.fallbacks++
    if (entry.told.size < mostTold && !entry.told.has(why)) {
      entry.told.add(why)
      this.#log.warn(
        { worker, version: active.version },
        `version ${active.version} of worker "${worker}" runs jobs for another one: ${why}`,
      )
    }
    return active
  }
}
