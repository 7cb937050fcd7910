import assert from 'node:assert/strict'
import { type MemoryLine, memoryLogger } from '../log/memory-logger.js'
import { type FakeClock, fakeClock } from '../util/fake-clock.js'
import { HookBus } from './bus.js'
import type { AnyHook, HookKind, HookSpec, SlotOf } from './kinds.js'
import type { ListenerReport } from './report.js'

/** A bus with one declared hook `onTest`, for tests. */
export interface BusUnderTest<H> {
  readonly bus: HookBus
  readonly slot: SlotOf<H>
  readonly clock: FakeClock
  readonly lines: readonly MemoryLine[]
  /** The report of the hook's listener at `index`, in execution order. */
  listener(index?: number): ListenerReport
}

const RANKS: Readonly<Record<string, number>> = { first: 1, second: 2, third: 3 }

export const specOf = (kind: HookKind, more: Partial<HookSpec> = {}): HookSpec => ({
  kind,
  args: ['one', 'two'],
  summary: 'A test',
  ...more,
})

export function makeBus(ranks: Readonly<Record<string, number>> = RANKS): { bus: HookBus; clock: FakeClock; lines: readonly MemoryLine[] } {
  const clock = fakeClock()
  const log = memoryLogger()
  return { bus: new HookBus({ clock, log, rank: (plugin) => ranks[plugin] ?? 0 }), clock, lines: log.lines }
}

export function busWith<H extends AnyHook>(kind: H['kind'], more: Partial<HookSpec> = {}): BusUnderTest<H> {
  const { bus, clock, lines } = makeBus()
  bus.declare('tester', { onTest: specOf(kind, more) })
  const listener = (index = 0): ListenerReport => {
    const found = bus.report()[0]?.listeners[index]
    assert.ok(found, `hook onTest has no listener ${index}`)
    return found
  }
  return { bus, slot: slotOf<H>(bus, 'onTest'), clock, lines, listener }
}

/** A slot of a hook that only the test knows. */
export function slotOf<H>(bus: HookBus, name: string): SlotOf<H> {
  return bus.slot(name as never) as unknown as SlotOf<H>
}

export const never = (): Promise<never> => new Promise(() => {})

/** Timers that keep this process alive. */
export function liveTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
}
