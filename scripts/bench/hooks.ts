import { fileURLToPath } from 'node:url'
import { HookBus } from '../../core/hooks/bus.js'
import type { GateSlot, HookKind, NotifySlot, WaterfallSlot } from '../../core/hooks/kinds.js'
import type { Logger } from '../../core/log/types.js'
import { systemClock } from '../../core/util/clock.js'
import { type BenchRow, below, formatRows } from './row.js'

const SYNC_CALLS = 10_000_000
const ASYNC_CALLS = 300_000
const ROUNDS = 5
/** Calls rotate over this many hooks, so that the compiler cannot hoist anything out of the loop. */
const HOOKS = 64

type Slot = NotifySlot<[worker: string, job: number]>

/** Measures the cost of a hook with no, one and three listeners: the best of five rounds, including the loop. */
export async function benchHooks(): Promise<BenchRow[]> {
  const seen = { total: 0 }
  const idle = makeSlots(0, seen)
  const one = makeSlots(1, seen)
  const three = makeSlots(3, seen)
  // All three shapes run through the same code first, so that no row benefits from code that is optimized for it alone.
  for (const slots of [idle, one, three]) callAll(slots, SYNC_CALLS / 10)

  const rows = [
    below(
      'idle hook, guarded by slot.active',
      nsPerCall(SYNC_CALLS, () => callIfActive(idle, SYNC_CALLS)),
      'ns',
      5,
    ),
    below(
      'idle hook, slot.call without guard',
      nsPerCall(SYNC_CALLS, () => callAll(idle, SYNC_CALLS)),
      'ns',
      5,
    ),
    { name: 'notify, 1 sync listener', value: nsPerCall(SYNC_CALLS, () => callAll(one, SYNC_CALLS)), unit: 'ns' },
    below(
      'notify, 3 sync listeners',
      nsPerCall(SYNC_CALLS, () => callAll(three, SYNC_CALLS)),
      'ns',
      100,
    ),
    below('notify, 3 sync listeners, heap per call', bytesPerCall(three), 'B', 8),
    { name: 'notify, 1 async listener', value: await nsOfAsyncNotify(seen), unit: 'ns' },
    { name: 'waterfall, 1 sync listener, awaited', value: await nsOfAwaited(waterfall(seen)), unit: 'ns' },
    { name: 'gate, 1 sync listener, awaited', value: await nsOfAwaited(gate(seen)), unit: 'ns' },
  ]
  // Without the work of the listeners, the loops above would have measured nothing.
  const expected = SYNC_CALLS * (ROUNDS * 4)
  if (seen.total < expected) throw new Error(`hook bench: listeners saw ${seen.total} calls, expected at least ${expected}`)
  return rows
}

function makeSlots(listeners: number, seen: { total: number }): Slot[] {
  const bus = makeBus()
  return Array.from({ length: HOOKS }, (_, index) => {
    const slot = declare<Slot>(bus, `onBench${index}`, 'notify')
    // The listeners have different code, as in an app, so that the compiler cannot inline them as one.
    const bodies = [
      (_worker: string, job: number) => {
        seen.total += 1 + (job & 1)
      },
      (worker: string) => {
        seen.total += worker.length
      },
      (_worker: string, job: number) => {
        if (job >= 0) seen.total++
      },
      () => {
        seen.total += 2
      },
      (worker: string, job: number) => {
        seen.total += worker === 'emails' ? 1 : job
      },
    ]
    for (let count = 0; count < listeners; count++)
      bus.on(`plugin${count}`, `onBench${index}`, bodies[(index + count) % bodies.length] ?? (() => {}))
    return slot
  })
}

function makeBus(): HookBus {
  return new HookBus({ clock: systemClock, log: silent, rank: () => 0 })
}

function declare<S>(bus: HookBus, name: string, kind: HookKind): S {
  bus.declare('bench', { [name]: { kind, args: ['worker', 'job'], summary: 'For measuring' } })
  return bus.slot(name as never) as unknown as S
}

function callAll(slots: readonly Slot[], calls: number): void {
  for (let call = 0; call < calls; ) for (const slot of slots) slot.call('emails', call++)
}

function callIfActive(slots: readonly Slot[], calls: number): void {
  for (let call = 0; call < calls; ) {
    for (const slot of slots) {
      if (slot.active) slot.call('emails', call)
      call++
    }
  }
}

function nsPerCall(calls: number, round: () => unknown): number {
  return best(() => {
    const startedAt = performance.now()
    round()
    return ((performance.now() - startedAt) * 1e6) / calls
  })
}

/** The smallest heap growth in a round too short for a collection. Timed calls (1 in 256) allocate a little; an array per call would be >= 16 B. */
function bytesPerCall(slots: readonly Slot[]): number {
  const calls = 20_000
  return best(() => {
    const before = process.memoryUsage().heapUsed
    callAll(slots, calls)
    const grown = process.memoryUsage().heapUsed - before
    return grown < 0 ? Number.POSITIVE_INFINITY : grown / calls
  })
}

async function nsOfAsyncNotify(seen: { total: number }): Promise<number> {
  const bus = makeBus()
  const slot = declare<Slot>(bus, 'onBench', 'notify')
  bus.on('plugin', 'onBench', async (_worker: string, job: number) => {
    seen.total += job & 1
  })
  const ns = await nsOfAwaited(async (index) => slot.call('emails', index))
  bus.close()
  return ns
}

function waterfall(seen: { total: number }): (index: number) => Promise<unknown> {
  const bus = makeBus()
  const slot = declare<WaterfallSlot<number, []>>(bus, 'transformBench', 'waterfall')
  bus.on('plugin', 'transformBench', (value: number) => {
    seen.total++
    return value + 1
  })
  return (index) => slot.call(index)
}

function gate(seen: { total: number }): (index: number) => Promise<unknown> {
  const bus = makeBus()
  const slot = declare<GateSlot<[number]>>(bus, 'beforeBench', 'gate')
  bus.on('plugin', 'beforeBench', () => void seen.total++)
  return (index) => slot.call(index)
}

async function nsOfAwaited(call: (index: number) => Promise<unknown>): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now()
    for (let index = 0; index < ASYNC_CALLS; index++) await call(index)
    fastest = Math.min(fastest, ((performance.now() - startedAt) * 1e6) / ASYNC_CALLS)
  }
  return fastest
}

function best(round: () => number): number {
  return Math.min(...Array.from({ length: ROUNDS }, round))
}

const noLine = (): void => {}
const silent: Logger = {
  level: 'silent',
  trace: noLine,
  debug: noLine,
  info: noLine,
  warn: noLine,
  error: noLine,
  fatal: noLine,
  child: () => silent,
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(formatRows(await benchHooks()))
