import type { AttemptCounts } from '../shared/contract.js'

/** Attempts of one version. */
export interface VersionCounts extends AttemptCounts {
  readonly version: string
}

interface Tally {
  completed: number
  failed: number
  lost: number
  totalMs: number
  inFlight: number
}

/** Attempts of one worker in this process by version, since they were last taken away, and how many run. */
export class Counters {
  readonly #tallies = new Map<string, Tally>()

  /** An attempt runs from here to `end`. */
  begin(version: string): void {
    this.#of(version).inFlight++
  }

  end(version: string): void {
    this.#of(version).inFlight--
  }

  /** The next three are called for an attempt whose outcome the store has accepted. */
  completed(version: string, ms: number): void {
    const tally = this.#of(version)
    tally.completed++
    tally.totalMs += ms
  }

  failed(version: string, ms: number): void {
    const tally = this.#of(version)
    tally.failed++
    tally.totalMs += ms
  }

  /** A failure that is the code's or the process's rather than the job's: timed out, its sandbox died, or its lock ran out (no ms). */
  lost(version: string, ms = 0): void {
    this.failed(version, ms)
    this.#of(version).lost++
  }

  /** Jobs of a version that run right now. */
  inFlight(version: string): number {
    return this.#tallies.get(version)?.inFlight ?? 0
  }

  /** What was counted since the last call; versions without any are left out. */
  drain(): readonly VersionCounts[] {
    const drained: VersionCounts[] = []
    for (const [version, { inFlight, ...counts }] of this.#tallies) {
      if (counts.completed > 0 || counts.failed > 0) drained.push({ version, ...counts })
      if (inFlight === 0) this.#tallies.delete(version)
      else this.#tallies.set(version, { completed: 0, failed: 0, lost: 0, totalMs: 0, inFlight })
    }
    return drained
  }

  /** Takes back what was drained and could not be passed on. */
  restore(counts: readonly VersionCounts[]): void {
    for (const { version, completed, failed, lost, totalMs } of counts) {
      const tally = this.#of(version)
      tally.completed += completed
      tally.failed += failed
      tally.lost += lost
      tally.totalMs += totalMs
    }
  }

  #of(version: string): Tally {
    let tally = this.#tallies.get(version)
    if (tally === undefined) {
      tally = { completed: 0, failed: 0, lost: 0, totalMs: 0, inFlight: 0 }
      this.#tallies.set(version, tally)
    }
    return tally
  }
}
