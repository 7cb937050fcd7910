import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock, memoryLogger } from 'zin/testing'
import { type ClockReport, ClockWatch, judge, type Offsets } from './clock-watch.js'

const of = (offsets: Readonly<Record<string, number>>): Offsets => new Map(Object.entries(offsets))
const minute = 60_000

describe('the clock of a node', () => {
  const cases: readonly (readonly [
    title: string,
    offsets: Readonly<Record<string, number>>,
    others: readonly Readonly<Record<string, number>>[],
    state: ClockReport['state'],
  ])[] = [
    ['agrees with its stores', { Redis: 20, database: -900 }, [], 'right'],
    ['differs from the only store', { Redis: minute + 1 }, [], 'off'],
    ['differs by exactly the window', { Redis: -minute }, [], 'right'],
    ['differs from one of two stores', { Redis: 300_000, database: 0 }, [], 'off'],
    ['differs from both stores', { Redis: 300_000, database: 299_000 }, [], 'wrong'],
    ['differs from its store and from a node that agrees with the store', { Redis: -300_000 }, [{ Redis: 10 }], 'wrong'],
    ['agrees with the other nodes, and none with the store', { Redis: -300_000 }, [{ Redis: -300_200 }, { Redis: -299_000 }], 'off'],
    ['differs from all but one', { Redis: -300_000 }, [{ Redis: 10 }, { Redis: -300_000 }], 'off'],
    ['cannot be compared with a node that has another store', { Redis: 300_000 }, [{ database: 0 }], 'off'],
  ]
  for (const [title, offsets, others, state] of cases)
    it(`${title}: ${state}`, () => assert.equal(judge(of(offsets), others.map(of), minute).state, state))

  function lab(windowMs = minute) {
    const clock = fakeClock()
    const log = memoryLogger()
    const stores = { Redis: 0, database: 0 }
    const state = { down: false, roundTripMs: 0 }
    const watch = new ClockWatch({
      clock,
      log,
      sources: () =>
        Object.keys(stores).map((name) => ({
          name,
          read: async () => {
            if (state.down) throw new Error('the connection is down')
            clock.advance(state.roundTripMs / 2)
            const now = clock.now() + stores[name as keyof typeof stores]
            clock.advance(state.roundTripMs / 2)
            return now
          },
        })),
      publish: async () => undefined,
      others: async () => [],
      windowMs: () => windowMs,
    })
    const warnings = () => log.lines.flatMap(({ level, msg }) => (level === 'warn' ? [String(msg)] : []))
    return { clock, log, state, stores, warnings, watch }
  }

  it('is logged once for each change, by the word clock', async () => {
    const { stores, warnings, watch } = lab()
    for (const offset of [0, -300_000, -300_000, -310_000, 0, 90_000]) {
      Object.assign(stores, { Redis: offset, database: offset })
      await watch.compare()
    }
    assert.deepEqual(warnings(), [
      'the clock of this node is 300 s ahead of that of Redis, more than the 60 s by which a signed request may differ; all other clocks agree, so this node is not ready. Check the time synchronisation of both',
      'the clock of this node is 90 s behind that of Redis, more than the 60 s by which a signed request may differ; all other clocks agree, so this node is not ready. Check the time synchronisation of both',
    ])
  })

  it('takes half of the round trip into account', async () => {
    const { state, watch } = lab(1000)
    state.roundTripMs = 1800
    await watch.compare()
    assert.deepEqual([watch.report?.state, Math.abs(watch.report?.offsetMs ?? 1) <= 1800], ['right', true])
  })

  it('is compared again when it is asked for after the clock was set', async () => {
    const { clock, stores, watch } = lab()
    await watch.compare()
    assert.equal((await watch.measurement())?.problem, undefined)
    Object.assign(stores, { Redis: -3_600_000, database: -3_600_000 })
    clock.set(clock.now() + 3_600_000)
    assert.match((await watch.measurement())?.problem ?? '', /3600 s ahead of that of Redis/)
  })

  it('is not wrong while a store does not respond: the check uses the last comparison', async () => {
    const clock = fakeClock()
    let hangs = false
    let release: () => void = () => undefined
    const watch = new ClockWatch({
      clock,
      log: memoryLogger(),
      sources: () => [
        {
          name: 'Redis',
          read: () => (hangs ? new Promise((resolve) => (release = () => resolve(clock.now()))) : Promise.resolve(clock.now())),
        },
      ],
      publish: async () => undefined,
      others: async () => [],
      windowMs: () => minute,
    })
    await watch.compare()
    hangs = true
    const comparing = watch.compare()
    assert.equal((await watch.measurement())?.problem, undefined)
    release()
    await comparing
  })

  it('is not judged while no store responds, and keeps its last state', async () => {
    const { state, stores, watch } = lab()
    state.down = true
    assert.equal(watch.unread, undefined)
    await watch.compare()
    assert.equal(await watch.measurement(), null)
    assert.equal(watch.unread, 'Redis: the connection is down; database: the connection is down')
    state.down = false
    await watch.compare()
    assert.equal(watch.unread, undefined)
    Object.assign(stores, { Redis: -300_000, database: -300_000 })
    await watch.compare()
    state.down = true
    await watch.compare()
    const { problem: _, ...measured } = (await watch.measurement()) ?? { name: '' }
    assert.deepEqual(measured, { name: 'offset', value: 300_000, unit: 'ms', warns: false })
  })
})
