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
  readonly #roles = new Map<string, { readonly candidate: Candidate; holders: number }>()

  constructor(parts: LeadershipsParts) {
    this.#parts = parts
  }

  /** Several may hold a role in one process; it is given up when all of them resigned. */
  lead(role: string): Leadership {
    const held = this.#roles.get(role) ?? this.#runFor(role)
    const { candidate } = held
    held.holders++
    let resigned = false
    return {
      get leads() {
        return !resigned && candidate.leads
      },
      get epoch() {
        return candidate.epoch
      },
      resign: async () => {
        if (resigned) return
        resigned = true
        held.holders--
        if (held.holders > 0) return
        if (this.#roles.get(role) === held) this.#roles.delete(role)
        await candidate.resign()
      },
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#roles.values()].map(({ candidate }) => candidate.resign()))
    this.#roles.clear()
  }

  #runFor(role: string): { readonly candidate: Candidate; holders: number } {
    const { cluster, ...parts } = this.#parts
    const held = { candidate: runForLead(cluster, { role, ...parts }), holders: 0 }
    this.#roles.set(role, held)
    held.candidate.start()
    return held
  }
}
