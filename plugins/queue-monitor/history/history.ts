import type { Kv } from 'zin/plugins/kv'
import type { HistoryPoint, HistoryTier } from '../contract.js'
import { noAttempts, sizeOf } from '../snapshot/snapshot.js'
import type { Sample } from '../snapshot/snapshots.js'
import { noTiers, pointsOf, rollUp, type StoredPoint, spans, type Tiers, withMinute } from './tiers.js'

/** Queues written concurrently. */
const atOnce = 20
const minutesKey = (queue: string): string => `monitor:history:minute:${queue}`
const olderKey = (queue: string): string => `monitor:history:older:${queue}`

/** The history of queues in the kv store, cached in memory on the leader. */
export class History {
  readonly #kv: Kv
  readonly #retentionMs: number
  readonly #known = new Map<string, Tiers>()
  #writtenMinute = 0

  constructor(kv: Kv, retentionMs: number) {
    this.#kv = kv
    this.#retentionMs = retentionMs
  }

  /** Clears the cache when another node becomes the leader. */
  forget(): void {
    this.#known.clear()
    this.#writtenMinute = 0
  }

  /** Adds a sample; writes once a minute. */
  async add({ attempts, snapshot: { at, queues } }: Sample): Promise<void> {
    const current = Math.floor(at / spans.minute) * spans.minute
    const writes = current !== this.#writtenMinute
    const names = Object.keys(queues)
    for (const name of [...this.#known.keys()]) if (!Object.hasOwn(queues, name)) this.#known.delete(name)
    for (let from = 0; from < names.length; from += atOnce) {
      await Promise.all(
        names.slice(from, from + atOnce).map(async (name) => {
          const queue = queues[name]
          if (queue === undefined) return
          const before = this.#known.get(name) ?? (await this.#load(name))
          const { minutes } = attempts.get(name) ?? { minutes: new Map() }
          const levels = {
            size: sizeOf(queue),
            active: queue.counts.active,
            oldestWaitingMs: queue.oldestWaiting === null ? null : Math.max(0, at - queue.oldestWaiting),
          }
          const none = { size: 0, active: 0, oldestWaitingMs: null }
          const previous = minutes.get(current - spans.minute)
          const points: StoredPoint[] = [{ at: current, ...(minutes.get(current) ?? noAttempts), ...levels }]
          if (previous !== undefined) points.unshift({ at: current - spans.minute, ...previous, ...none })
          await this.#keep(name, before, points, at, writes)
        }),
      )
    }
    this.#writtenMinute = current
  }

  /** Returns the cached minutes of a queue on the leader, oldest first. No round trip. */
  minutesOf(queue: string): readonly StoredPoint[] {
    return this.#known.get(queue)?.minute ?? []
  }

  async read(queue: string, tier: HistoryTier, now: number): Promise<readonly HistoryPoint[]> {
    return pointsOf(this.#known.get(queue) ?? (await this.#load(queue)), tier, this.#retentionMs, now)
  }

  async #keep(name: string, before: Tiers, points: readonly StoredPoint[], at: number, writes: boolean): Promise<void> {
    const minute = points.map(slim).reduce(withMinute, before.minute)
    const hour = rollUp(minute, before.hour, 'hour', at)
    const day = rollUp(hour, before.day, 'day', at)
    this.#known.set(name, { minute, hour, day })
    if (!writes) return
    const ttlMs = Math.max(this.#retentionMs, spans.day)
    await this.#kv.set(minutesKey(name), JSON.stringify(minute), { ttlMs })
    if (hour !== before.hour || day !== before.day) await this.#kv.set(olderKey(name), JSON.stringify({ hour, day }), { ttlMs })
  }

  async #load(queue: string): Promise<Tiers> {
    const [minute = null, older = null] = await this.#kv.getMany([minutesKey(queue), olderKey(queue)])
    return { ...noTiers, ...(older === null ? {} : JSON.parse(older)), ...(minute === null ? {} : { minute: JSON.parse(minute) }) }
  }
}

/** Copies only the stored fields. */
function slim({ active, at, completed, durations, failed, oldestWaitingMs, size, totalMs }: StoredPoint): StoredPoint {
  return { at, size, active, oldestWaitingMs, completed, failed, totalMs, durations }
}
