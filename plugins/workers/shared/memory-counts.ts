import type { Clock } from 'zin'
import type { AttemptCounts, AttemptDelta, MinuteCounts } from './contract.js'
import { dayMs, minuteOf } from './keep.js'
import { countsOf, noTally, sum, type Tally, tallyOf } from './tally.js'

interface Minute {
  readonly minute: number
  readonly version: string
  readonly tally: Tally
}

/** Attempts, in all and by minutes. */
export class MemoryCounts {
  readonly #clock: Clock
  readonly #totals = new Map<string, Tally>()
  /** By worker, then by minute and version. */
  readonly #minutes = new Map<string, Map<string, Minute>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(deltas: readonly AttemptDelta[]): void {
    const minute = minuteOf(this.#clock.now())
    for (const delta of deltas) {
      const { worker, version } = delta
      const tally = tallyOf(delta)
      this.#totals.set(worker, sum(this.#totals.get(worker) ?? noTally, tally))
      if (version === null) continue
      const minutes = this.#minutes.get(worker) ?? new Map<string, Minute>()
      this.#minutes.set(worker, minutes)
      const key = `${minute}:${version}`
      minutes.set(key, { minute, version, tally: sum(minutes.get(key)?.tally ?? noTally, tally) })
    }
  }

  totals(workers: readonly string[]): ReadonlyMap<string, AttemptCounts> {
    return new Map(
      workers.flatMap((worker) => {
        const tally = this.#totals.get(worker)
        return tally === undefined ? [] : [[worker, countsOf(tally)] as const]
      }),
    )
  }

  minutes(worker: string, since: number): readonly MinuteCounts[] {
    const from = Math.max(minuteOf(since), this.#clock.now() - dayMs)
    return [...(this.#minutes.get(worker)?.values() ?? [])]
      .filter(({ minute }) => minute >= from)
      .sort((a, b) => a.minute - b.minute)
      .map(({ minute, version, tally }) => ({ minute, version, ...countsOf(tally) }))
  }

  erase(worker: string): void {
    this.#totals.delete(worker)
    this.#minutes.delete(worker)
  }

  /** Forgets the minutes of more than a day ago. */
  sweep(): void {
    const from = this.#clock.now() - dayMs
    for (const minutes of this.#minutes.values()) {
      for (const [key, { minute }] of minutes) if (minute < from) minutes.delete(key)
    }
  }
}
