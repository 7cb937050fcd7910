import { chainOf } from './entry.js'

/** A position in the log that does not match what was written. */
export interface AuditFault {
  /** Id of the entry; for a whole chain, of its first or last entry. */
  readonly id: number
  /** The problem, as a sentence without a full stop that names the entry or chain. */
  readonly problem: string
}

/** Maximum number of listed faults; further ones are only counted. */
const mostFaults = 20
/** Maximum number of chains whose faults are told apart. */
const mostChains = 100_000

/** The faults found by a verification, in the order of the log. */
export class Faults {
  readonly first: AuditFault[] = []
  readonly #chains = new Set<number>()
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Whether a fault of a chain is known. May be false for one of very many chains. */
  has(chain: number): boolean {
    return this.#chains.has(chain)
  }

  add(id: number, problem: string): void {
    this.#count += 1
    if (this.#chains.size < mostChains) this.#chains.add(chainOf(id))
    if (this.first.length < mostFaults) this.first.push({ id, problem })
  }

  addAll(others: Faults): void {
    this.#count += others.count
    for (const chain of others.#chains) if (this.#chains.size < mostChains) this.#chains.add(chain)
    this.first.push(...others.first.slice(0, mostFaults - this.first.length))
  }
}
