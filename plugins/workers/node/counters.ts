import type { AttemptCounts } from '../shared/contract.js'
import { bucketOf, type DurationBuckets, durationBounds } from '../shared/durations.js'

/** Attempts of one version. */
export interface VersionCounts extends AttemptCounts {
  readonly version: string
  readonly durations: DurationBuckets
}

interface Tally {
  completed: number
  failed: number
  lost: number
  timedOut: number
  cancelled: number
  totalMs: number
  /** Attempts by the bucket of their run time. */
  readonly durations: Uint32Array
  inFlight: number
}

/** Counts the attempts of one worker on this node by version since the last drain, and those that are in flight. */
export class Counters {
  readonly #tallies = new Map<string, Tally>()

  /** Counts an attempt as in flight until `end`. */
  begin(version: string): void {
    this.#of(version).inFlight++
  }

  end(version: string): void {
    this.#of(version).inFlight--
  }

  /** This and the next four methods count an attempt whose outcome the store has accepted. */
  completed(version: string, ms: number): void {
    const tally = this.#of(version)
    tally.completed++
    addTime(tally, ms)
  }

  failed(version: string, ms: number): void {
    const tally = this.#of(version)
    tally.failed++
    addTime(tally, ms)
  }

  /**
   * Counts a failed attempt whose node or child ended, or whose lock expired.
   *
   * @param ms run time; undefined if it ran on another node and the time is unknown.
   */
  lost(version: string, ms?: number): void {
    const tally = this.#of(version)
    tally.failed++
    tally.lost++
    if (ms !== undefined) addTime(tally, ms)
  }

  timedOut(version: string, ms: number): void {
    const tally = this.#of(version)
    tally.failed++
    tally.timedOut++
    addTime(tally, ms)
  }

  cancelled(version: string): void {
    this.#of(version).cancelled++
  }

  /** Number of in-flight jobs of a version. */
  inFlight(version: string): number {
    return this.#tallies.get(version)?.inFlight ?? 0
  }

  /** Returns and resets the counts; versions without counts are left out. */
  drain(): readonly VersionCounts[] {
    const drained: VersionCounts[] = []
    for (const [version, { inFlight, durations, ...counts }] of this.#tallies) {
      const counted = counts.completed > 0 || counts.failed > 0 || counts.cancelled > 0
      if (counted) drained.push({ version, ...counts, durations: sparse(durations) })
      if (inFlight === 0) this.#tallies.delete(version)
      else if (counted) this.#tallies.set(version, newTally(inFlight))
    }
    return drained
  }

  /** Adds drained counts again, which could not be stored. */
  restore(counts: readonly VersionCounts[]): void {
    for (const { version, completed, failed, lost, timedOut, cancelled, totalMs, durations } of counts) {
      const tally = this.#of(version)
      tally.completed += completed
      tally.failed += failed
      tally.lost += lost
      tally.timedOut += timedOut
      tally.cancelled += cancelled
      tally.totalMs += totalMs
      for (const [bucket, attempts] of Object.entries(durations)) addTimes(tally, Number(bucket), attempts)
    }
  }

  #of(version: string): Tally {
    let tally = this.#tallies.get(version)
    if (tally === undefined) {
      tally = newTally(0)
      this.#tallies.set(version, tally)
    }
    return tally
  }
}

function newTally(inFlight: number): Tally {
  const durations = new Uint32Array(durationBounds.length + 1)
  return { completed: 0, failed: 0, lost: 0, timedOut: 0, cancelled: 0, totalMs: 0, durations, inFlight }
}

function addTime(tally: Tally, ms: number): void {
  tally.totalMs += ms
  addTimes(tally, bucketOf(ms), 1)
}

function addTimes({ durations }: Tally, bucket: number, attempts: number): void {
  durations[bucket] = (durations[bucket] ?? 0) + attempts
}

function sparse(durations: Uint32Array): DurationBuckets {
  return Object.fromEntries([...durations.entries()].filter(([, attempts]) => attempts > 0))
}
