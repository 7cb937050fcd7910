/** A place in the log that is not as it was written. */
export interface AuditFault {
  /** Id of the entry; of a whole chain, where it begins or ends. */
  readonly id: number
  /** What is wrong, as a sentence without a full stop that names the entry or the chain. */
  readonly problem: string
}

/** Faults that are named; further ones are only counted. */
const mostFaults = 20

/** What a verification found, in the order of the log. */
export class Faults {
  readonly first: AuditFault[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  add(id: number, problem: string): void {
    this.#count += 1
    if (this.first.length < mostFaults) this.first.push({ id, problem })
  }

  addAll(others: Faults): void {
    this.#count += others.count
    this.first.push(...others.first.slice(0, mostFaults - this.first.length))
  }
}
