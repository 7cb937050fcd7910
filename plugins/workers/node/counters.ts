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

  /** The next five are called for an attempt whose outcome the store has accepted. */
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

  /** A failed attempt whose node or child ended, or whose lock ran out. @param ms undefined: on another node, for an unknown time. */
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

  /** Jobs of a version that run right now. */
  inFlight(version: string): number {
    return this.#tallies.get(version)?.inFlight ?? 0
  }

  /** What was counted since the last call; versions without any are left out. */
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

  /** Takes back what was drained and could not be passed on. */
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
