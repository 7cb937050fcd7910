import type { Clock } from 'zin'
import type { AttemptCounts, AttemptDelta, CountsQuery, WorkerCounts } from './contract.js'
import { sumDurations } from './durations.js'
import { dayMs, minuteOf } from './keep.js'
import { countsBy, countsOf, type MinuteTally, noTally, sum, type Tally, tallyOf } from './tally.js'

/** Counts attempts in memory, in total and by minute. */
export class MemoryCounts {
  readonly #clock: Clock
  readonly #totals = new Map<string, Tally>()
  /** By worker, then by minute and version. */
  readonly #minutes = new Map<string, Map<string, MinuteTally>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(deltas: readonly AttemptDelta[]): void {
    const minute = minuteOf(this.#clock.now())
    for (const delta of deltas) {
      const { worker, version, durations } = delta
      const tally = tallyOf(delta)
      this.#totals.set(worker, sum(this.#totals.get(worker) ?? noTally, tally))
      if (version === null) continue
      const minutes = this.#minutes.get(worker) ?? new Map<string, MinuteTally>()
      this.#minutes.set(worker, minutes)
      const key = `${minute}:${version}`
      const known = minutes.get(key) ?? { tally: noTally, durations: {} }
      minutes.set(key, {
        worker,
        minute,
        version,
        tally: sum(known.tally, tally),
        durations: sumDurations([known.durations, durations]),
      })
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

  counts(workers: readonly string[], query: CountsQuery): readonly WorkerCounts[] {
    const from = Math.max(minuteOf(query.since), this.#clock.now() - dayMs)
    const minutes = workers.flatMap((worker) => [...(this.#minutes.get(worker)?.values() ?? [])])
    return countsBy(
      workers,
      query,
      minutes.filter(({ minute }) => minute >= from),
    )
  }

  erase(worker: string): void {
    this.#totals.delete(worker)
    this.#minutes.delete(worker)
  }

  /** Deletes minutes older than a day. */
  sweep(): void {
    const from = this.#clock.now() - dayMs
    for (const minutes of this.#minutes.values()) {
      for (const [key, { minute }] of minutes) if (minute < from) minutes.delete(key)
    }
  }
}
