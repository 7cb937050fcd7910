import type { Clock, Logger } from 'zin'
import type { Leadership } from '../types.js'
import type { Cluster } from './cluster.js'
import { type Candidate, runForLead } from './leadership.js'

export interface LeadershipsParts {
  readonly cluster: Cluster
  /** Id of this process. */
  readonly node: string
  readonly clock: Clock
  readonly log: Logger
}

/** The roles that this process runs for, each once. */
export class Leaderships {
  readonly #parts: LeadershipsParts
  readonly #candidates = new Map<string, Candidate>()

  constructor(parts: LeadershipsParts) {
    this.#parts = parts
  }

  lead(role: string): Leadership {
    const known = this.#candidates.get(role)
    if (known !== undefined) return known
    const { cluster, ...parts } = this.#parts
    const candidate = runForLead(cluster, { role, ...parts })
    this.#candidates.set(role, candidate)
    candidate.start()
    return candidate
  }

  async close(): Promise<void> {
    await Promise.all([...this.#candidates.values()].map((candidate) => candidate.resign()))
    this.#candidates.clear()
  }
}
