import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { HealthMeasurement } from './contract.js'

/** Another clock, in ms since 1970. */
export interface ClockSource {
  /** For messages: `Redis`. */
  readonly name: string
  read(): Promise<number>
}

/** How far clocks are ahead of the clock of this node, in ms, by name; negative: behind. */
export type Offsets = ReadonlyMap<string, number>

export interface ClockWatchParts {
  readonly clock: Clock
  readonly log: Logger
  /** The clocks of the stores, as far as they are not that of this machine. */
  readonly sources: () => readonly ClockSource[]
  /** Publishes the offsets of this node for the others. */
  readonly publish: (offsets: Offsets) => Promise<unknown>
  /** The offsets that the other nodes have published. */
  readonly others: () => Promise<readonly Offsets[]>
  /** By how much the time of a signed request may differ, in ms. */
  readonly windowMs: () => number
}

/** The result of the last comparison. */
export interface ClockReport {
  /** `off`: this clock and a store differ by more than the window. `wrong`: so do all others, at least two, so it is this clock. */
  readonly state: 'right' | 'off' | 'wrong'
  /** How far this clock is ahead of the store that differs most, in ms; negative: behind. */
  readonly offsetMs: number
  readonly text: string
}

const readMs = 2_000
/** A change of the wall clock by more than this is a step. */
const stepMs = 2_000
/** How long a health check waits for a comparison, in ms: less than its own deadline. */
const waitMs = 500
const late = `no response within ${readMs} ms`

/** Compares the clock of this node with those of the stores and, through them, with those of the other nodes. */
export class ClockWatch {
  readonly #parts: ClockWatchParts
  #running: Promise<void> | undefined
  #report: ClockReport | undefined
  #unread: string | undefined
  /** How far the wall clock was ahead of the monotonic one at the last comparison, in ms. */
  #ahead: number | undefined

  constructor(parts: ClockWatchParts) {
    this.#parts = parts
  }

  /** Undefined while no store could be asked. */
  get report(): ClockReport | undefined {
    return this.#report
  }

  /** Why none of the clocks could be read at the last comparison; undefined if one was, or if there are none. */
  get unread(): string | undefined {
    return this.#unread
  }

  /** Never rejects. Calls during a comparison share it. */
  compare(): Promise<void> {
    this.#running ??= this.#compare().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** For a health check; null if there is nothing to compare with. Compares again if the clock was set since the last comparison. */
  async measurement(): Promise<HealthMeasurement | null> {
    const { clock } = this.#parts
    const isSet = this.#ahead !== undefined && Math.abs(clock.now() - clock.monotonic() - this.#ahead) > stepMs
    // A store that does not respond is not a wrong clock.
    await withDeadline((isSet ? this.compare() : this.#running) ?? Promise.resolve(), waitMs, '').catch(() => undefined)
    if (this.#report === undefined) return null
    const { offsetMs, state, text } = this.#report
    return { name: 'offset', value: offsetMs, unit: 'ms', ...(state !== 'right' && { problem: text, warns: state === 'off' }) }
  }

  async #compare(): Promise<void> {
    const { clock, log, others, publish, sources, windowMs } = this.#parts
    this.#ahead = clock.now() - clock.monotonic()
    const found = await Promise.all(sources().map((source) => this.#offsetOf(source)))
    const offsets = new Map(found.flatMap((one) => (typeof one === 'string' ? [] : [one])))
    this.#unread = offsets.size > 0 ? undefined : found.filter((one) => typeof one === 'string').join('; ') || undefined
    if (offsets.size === 0) return
    await withDeadline(publish(offsets), readMs, late).catch(() => undefined)
    // Only a node that differs asks the others.
    const isOff = [...offsets.values()].some((one) => Math.abs(one) > windowMs())
    const theirs = isOff ? await withDeadline(others(), readMs, late).catch(() => []) : []
    const report = judge(offsets, theirs, windowMs())
    const before = this.#report?.state ?? 'right'
    this.#report = report
    if (report.state === before) return
    if (report.state === 'right') log.info({ offsetMs: report.offsetMs }, 'the clock of this node agrees with the stores again')
    else log.warn({ offsetMs: report.offsetMs }, report.text)
  }

  /** The offset, or why it could not be read. */
  async #offsetOf({ name, read }: ClockSource): Promise<readonly [string, number] | string> {
    const { clock, log } = this.#parts
    const [wall, start] = [clock.now(), clock.monotonic()]
    try {
      const theirs = await withDeadline(read(), readMs, late)
      return [name, Math.round(theirs - wall - (clock.monotonic() - start) / 2)]
    } catch (error) {
      const why = messageOf(error)
      log.debug({ source: name, why }, 'the clock of a store could not be read')
      return `${name}: ${why}`
    }
  }
}

/** Decides whether this clock is off, and whether it is this one that is wrong. Pure. */
export function judge(offsets: Offsets, others: readonly Offsets[], windowMs: number): ClockReport {
  const [worst, offset] = [...offsets].reduce((most, one) => (Math.abs(one[1]) > Math.abs(most[1]) ? one : most))
  const offsetMs = -offset
  if (Math.abs(offset) <= windowMs) return { state: 'right', offsetMs, text: `the clock of this node agrees with ${worst}` }
  // A node and this one have both compared themselves with one store: the difference is that of their clocks.
  const nodes = others.flatMap((theirs) => {
    const common = [...offsets].find(([name]) => theirs.has(name))
    return common === undefined ? [] : [common[1] - (theirs.get(common[0]) ?? 0)]
  })
  const all = [...offsets.values(), ...nodes]
  const isWrong = all.length > 1 && all.every((one) => Math.abs(one) > windowMs)
  const by = `the clock of this node is ${Math.round(Math.abs(offset) / 1000)} s ${offset < 0 ? 'ahead of' : 'behind'} that of ${worst}`
  const window = `more than the ${windowMs / 1000} s by which a signed request may differ`
  const whose = isWrong ? 'all other clocks agree, so this node is not ready' : 'it is not known which of them is wrong'
  return { state: isWrong ? 'wrong' : 'off', offsetMs, text: `${by}, ${window}; ${whose}. Check the time synchronisation of both` }
}
