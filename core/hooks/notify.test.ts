import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MutedListener } from './catalogue.js'
import { MUTE_AFTER, MUTE_MS } from './delivery.js'
import type { Notify } from './kinds.js'
import { testKind } from './test-kind.js'
import { busWith, never, specOf } from './tester.js'

type Hook = Notify<[worker: string, job?: number]>

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const boom = (): never => {
  throw new Error('boom')
}

testKind('notify')

describe('a notify hook', () => {
  it('has called every listener when call returns, and awaits none', () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    const ran: string[] = []
    bus.on('first', 'onTest', async () => {
      ran.push('first')
      await never()
    })
    bus.on('second', 'onTest', () => void ran.push('second'))
    assert.equal(slot.call('emails'), undefined)
    assert.deepEqual(ran, ['first', 'second'])
    assert.equal(listener().pending, 1)
    bus.close()
  })

  it('passes zero to four arguments unchanged', () => {
    const { bus, slot } = busWith<Notify<readonly unknown[]>>('notify')
    const seen: number[] = []
    bus.on('first', 'onTest', (...args: unknown[]) => void seen.push(args.length))
    const calls = [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]
    for (const args of [...calls, ...calls]) slot.call(...args)
    assert.deepEqual(seen, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
  })

  it('isolates the emitter and other listeners from listeners that throw or reject', async () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    let good = 0
    bus.on('first', 'onTest', boom)
    bus.on('second', 'onTest', async () => boom())
    bus.on('third', 'onTest', () => void good++)
    for (let call = 0; call < 20; call++) slot.call('emails')
    await turn()
    assert.equal(good, 20)
    assert.deepEqual([listener(0).errors, listener(1).errors, listener(2).errors], [20, 20, 0])
  })

  it('logs a streak of failures once, with plugin and hook, and the next streak again', () => {
    const { bus, slot, lines } = busWith<Hook>('notify')
    let fails = true
    bus.on('first', 'onTest', () => (fails ? boom() : undefined))
    const emit = (failing: boolean): void => {
      fails = failing
      slot.call('emails')
    }
    for (const failing of [true, true, true, false, false, true, true]) emit(failing)
    assert.deepEqual(
      lines.map(({ level, plugin, hook }) => [level, plugin, hook]),
      [
        ['error', 'first', 'onTest'],
        ['error', 'first', 'onTest'],
      ],
    )
    assert.equal(lines[0]?.err?.message, 'boom')
  })

  it('drops and counts calls above maxPending, and continues when calls have ended', async () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    const release: (() => void)[] = []
    bus.on('first', 'onTest', { handler: () => new Promise<void>((resolve) => release.push(resolve)), maxPending: 3 })
    for (let call = 0; call < 5; call++) slot.call('emails')
    assert.deepEqual([listener().calls, listener().pending, listener().dropped], [3, 3, 2])
    release[0]?.()
    await turn()
    slot.call('emails')
    assert.deepEqual([listener().calls, listener().pending, listener().dropped], [4, 3, 2])
    bus.close()
  })

  it('bounds pending calls at 1000 by default', () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    bus.on('first', 'onTest', never)
    for (let call = 0; call < 1001; call++) slot.call('emails')
    assert.deepEqual([listener().pending, listener().dropped], [1000, 1])
    bus.close()
  })
})

describe('a notify listener that fails 50 times in a row', () => {
  const mutedBus = (handler: () => unknown = boom) => {
    const made = busWith<Hook>('notify')
    const told: MutedListener[] = []
    made.bus.declare('core', { onListenerMuted: specOf('notify') })
    made.bus.on('watcher', 'onListenerMuted', (muted: MutedListener) => void told.push(muted))
    made.bus.on('first', 'onTest', handler)
    return {
      ...made,
      told,
      emit: (times: number) => {
        for (let call = 0; call < times; call++) made.slot.call('emails')
      },
    }
  }

  it('is muted and reported once; others are still called', () => {
    const { bus, emit, listener, told, lines } = mutedBus()
    let good = 0
    bus.on('second', 'onTest', () => void good++)
    emit(MUTE_AFTER - 1)
    assert.equal(listener().muted, false)
    emit(11)
    assert.equal(listener().muted, true)
    assert.deepEqual([listener().calls, listener().errors, listener().dropped, good], [50, 50, 10, 60])
    assert.deepEqual(
      told.map(({ plugin, hook, failures, error }) => [plugin, hook, failures, error.message]),
      [['first', 'onTest', 50, 'boom']],
    )
    assert.deepEqual(
      lines.map(({ level }) => level),
      ['error', 'warn'],
    )
  })

  it('gets one trial call after the pause; a failure mutes it again, without a further log line', () => {
    const { emit, listener, clock, told, lines } = mutedBus()
    emit(MUTE_AFTER)
    clock.advance(MUTE_MS - 1)
    emit(5)
    assert.equal(listener().calls, 50)
    clock.advance(1)
    emit(5)
    assert.equal(listener().calls, 51)
    clock.advance(MUTE_MS - 1)
    emit(5)
    assert.equal(listener().calls, 51)
    clock.advance(1)
    emit(5)
    assert.deepEqual([listener().calls, listener().muted, told.length, lines.length], [52, true, 1, 2])
  })

  it('is called again after a successful trial, and muted again only after a complete new streak', () => {
    let fails = true
    const { emit, listener, clock, told } = mutedBus(() => (fails ? boom() : undefined))
    emit(MUTE_AFTER)
    clock.advance(MUTE_MS)
    fails = false
    emit(3)
    assert.deepEqual([listener().calls, listener().muted], [53, false])
    fails = true
    emit(MUTE_AFTER - 1)
    assert.equal(listener().muted, false)
    emit(1)
    assert.deepEqual([listener().muted, told.length], [true, 2])
  })

  it('waits for an asynchronous trial before it lets further calls through', async () => {
    let answer: () => Promise<unknown> = () => Promise.reject(new Error('boom'))
    const { emit, listener, clock } = mutedBus(() => answer())
    emit(MUTE_AFTER)
    await turn()
    assert.equal(listener().muted, true)
    let release = (): void => {}
    answer = () => new Promise<void>((resolve) => (release = resolve))
    clock.advance(MUTE_MS)
    emit(3)
    clock.advance(MUTE_MS)
    emit(3)
    assert.deepEqual([listener().calls, listener().muted], [51, true])
    release()
    await turn()
    emit(2)
    assert.deepEqual([listener().calls, listener().muted], [53, false])
  })

  it('is not unmuted by a call that started before it was muted', async () => {
    let release = (): void => {}
    let calls = 0
    const { emit, listener } = mutedBus(() => (calls++ === 0 ? new Promise<void>((resolve) => (release = resolve)) : boom()))
    emit(1 + MUTE_AFTER)
    assert.equal(listener().muted, true)
    release()
    await turn()
    assert.equal(listener().muted, true)
  })

  it('may be the listener of onListenerMuted itself', () => {
    const { bus, emit } = mutedBus()
    let calls = 0
    bus.on('third', 'onListenerMuted', () => {
      calls++
      boom()
    })
    for (let index = 0; index < 60; index++) bus.on('first', 'onTest', boom)
    emit(MUTE_AFTER)
    assert.equal(calls, MUTE_AFTER)
    assert.equal(
      bus
        .report()
        .find(({ name }) => name === 'onListenerMuted')
        ?.listeners.find(({ plugin }) => plugin === 'third')?.muted,
      true,
    )
  })
})

describe('a sequential notify listener', () => {
  it('gets calls one at a time, in order', async () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    const events: string[] = []
    const handler = async (worker: string): Promise<void> => {
      events.push(`${worker} begins`)
      await turn()
      events.push(`${worker} ends`)
    }
    bus.on('first', 'onTest', { handler, sequential: true })
    for (const worker of ['a', 'b', 'c']) slot.call(worker)
    assert.deepEqual(events, ['a begins'])
    assert.equal(listener().pending, 3)
    while (listener().pending > 0) await turn()
    assert.deepEqual(events, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  it('continues after a failure and after synchronous calls', async () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    const seen: string[] = []
    const answers: Record<string, () => unknown> = {
      a: () => Promise.reject(new Error('boom')),
      b: boom,
      c: () => undefined,
      d: () => turn(),
    }
    bus.on('first', 'onTest', {
      sequential: true,
      handler: (worker: string) => {
        seen.push(worker)
        return answers[worker]?.()
      },
    })
    for (const worker of ['a', 'b', 'c', 'd', 'c']) slot.call(worker)
    while (listener().pending > 0) await turn()
    assert.deepEqual(seen, ['a', 'b', 'c', 'd', 'c'])
    assert.equal(listener().errors, 2)
  })

  it('does not overlap itself when it emits its own hook', () => {
    const { bus, slot } = busWith<Hook>('notify')
    const events: string[] = []
    bus.on('first', 'onTest', {
      sequential: true,
      handler: (worker: string) => {
        events.push(`${worker} begins`)
        if (worker === 'outer') slot.call('inner')
        events.push(`${worker} ends`)
      },
    })
    slot.call('outer')
    assert.deepEqual(events, ['outer begins', 'outer ends', 'inner begins', 'inner ends'])
  })

  it('has a queue bounded by maxPending', async () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    const seen: string[] = []
    bus.on('first', 'onTest', {
      sequential: true,
      maxPending: 2,
      handler: async (worker: string) => {
        seen.push(worker)
        await turn()
      },
    })
    for (const worker of ['a', 'b', 'c', 'd']) slot.call(worker)
    assert.deepEqual([listener().pending, listener().dropped], [2, 2])
    while (listener().pending > 0) await turn()
    assert.deepEqual(seen, ['a', 'b'])
  })

  it('gets none of its queued calls after it was removed', async () => {
    const { bus, slot } = busWith<Hook>('notify')
    const seen: string[] = []
    const dispose = bus.on('first', 'onTest', {
      sequential: true,
      handler: async (worker: string) => {
        seen.push(worker)
        await turn()
      },
    })
    for (const worker of ['a', 'b', 'c']) slot.call(worker)
    dispose()
    await turn()
    await turn()
    assert.deepEqual(seen, ['a'])
  })

  it('drops its queue when it is muted', async () => {
    const { bus, slot, listener } = busWith<Hook>('notify')
    bus.on('first', 'onTest', { sequential: true, handler: async () => boom() })
    for (let call = 0; call < 80; call++) slot.call('emails')
    while (listener().pending > 0) await turn()
    assert.deepEqual([listener().calls, listener().muted, listener().dropped], [50, true, 30])
  })
})
