import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyHook, HookKind } from './kinds.js'
import { type BusUnderTest, busWith, liveTimers, makeBus, never, slotOf, specOf } from './tester.js'

/** Registers the tests that every kind of hook must pass. */
export function testKind(kind: HookKind): void {
  type Callable = { readonly active: boolean; call(...args: unknown[]): unknown }
  const setUp = (): Omit<BusUnderTest<AnyHook>, 'slot'> & { slot: Callable } => {
    const made = busWith<AnyHook>(kind)
    return { ...made, slot: made.slot as unknown as Callable }
  }
  const settled = async (answer: unknown): Promise<unknown> => {
    try {
      return await answer
    } catch (error) {
      return error
    }
  }

  describe(`a ${kind} hook, like every kind,`, () => {
    it('is active only while it has listeners', async () => {
      const { bus, slot } = setUp()
      assert.equal(slot.active, false)
      await slot.call('a', 'b')
      const dispose = bus.on('first', 'onTest', () => undefined)
      assert.equal(slot.active, true)
      dispose()
      dispose()
      assert.equal(slot.active, false)
    })

    it('runs pre before normal before post, then by plugin rank, then by registration', async () => {
      const { bus, slot } = setUp()
      const ran: string[] = []
      const add = (plugin: string, mark: string, order?: 'pre' | 'post'): void => {
        const handler = (): void => void ran.push(mark)
        bus.on(plugin, 'onTest', order === undefined ? handler : { handler, order })
      }
      add('first', 'post of first', 'post')
      add('second', 'second')
      add('first', 'first')
      add('first', 'first again')
      add('third', 'pre of third', 'pre')
      add('second', 'pre of second', 'pre')
      await slot.call('a')
      assert.deepEqual(ran, ['pre of second', 'pre of third', 'first', 'first again', 'second', 'post of first'])
    })

    it('passes exactly the given arguments, and no this', async () => {
      const { bus, slot } = setUp()
      const seen: unknown[] = []
      bus.on('first', 'onTest', function (this: unknown, ...args: unknown[]) {
        seen.push(this, ...args)
      })
      await slot.call('a', undefined)
      await slot.call('a', 2, 3, 4)
      assert.deepEqual(seen, [undefined, 'a', undefined, undefined, 'a', 2, 3, 4])
    })

    it('lets a listener add and remove listeners without affecting the emission in progress', async () => {
      const { bus, slot } = setUp()
      const ran: string[] = []
      const stop = bus.on('first', 'onTest', () => {
        ran.push('leaving')
        stop()
        stopNext()
        bus.on('third', 'onTest', () => void ran.push('late'))
      })
      const stopNext = bus.on('second', 'onTest', () => void ran.push('next'))
      await slot.call('a')
      assert.deepEqual(ran, ['leaving', 'next'])
      await slot.call('a')
      assert.deepEqual(ran, ['leaving', 'next', 'late'])
    })

    it('can be emitted by its own listener', async () => {
      const { bus, slot } = setUp()
      const ran: unknown[] = []
      bus.on('first', 'onTest', async (depth: number) => {
        ran.push(depth)
        if (depth < 3) await slot.call(depth + 1)
      })
      await slot.call(1)
      assert.deepEqual(ran, [1, 2, 3])
    })

    it('counts calls, throws and rejections per listener, and keeps running', async () => {
      const { bus, slot, listener } = setUp()
      let calls = 0
      bus.on('first', 'onTest', () => {
        calls++
        if (calls === 1) throw new Error('thrown')
        return calls === 2 ? Promise.reject(new Error('rejected')) : undefined
      })
      for (let call = 0; call < 3; call++) await settled(slot.call('a'))
      assert.equal(listener().calls, 3)
      assert.equal(listener().errors, 2)
      assert.equal(listener().pending, 0)
    })

    it('survives listeners that throw a non-error or return a broken thenable', async () => {
      const { bus, slot, listener } = setUp()
      const answers = [
        () => {
          throw Object.create(null)
        },
        () => ({
          // biome-ignore lint/suspicious/noThenProperty: the broken thenable is what is tested
          get then() {
            throw new Error('hostile getter')
          },
        }),
        () => ({
          // biome-ignore lint/suspicious/noThenProperty: the broken thenable is what is tested
          then() {
            throw new Error('hostile then')
          },
        }),
      ]
      for (const answer of answers) bus.on('first', 'onTest', answer)
      for (let call = 0; call < 2; call++) await settled(slot.call('a'))
      assert.ok(listener().errors >= 2)
    })

    it('keeps its slot, is inactive while undeclared, and is active again after the next declaration', async () => {
      const { bus } = makeBus()
      const undeclare = bus.declare('tester', { onTest: specOf(kind) })
      const slot = slotOf<AnyHook>(bus, 'onTest') as unknown as Callable
      let calls = 0
      bus.on('first', 'onTest', () => void calls++)
      undeclare()
      undeclare()
      assert.equal(slot.active, false)
      await slot.call('a')
      assert.equal(calls, 0)
      bus.declare('tester', { onTest: specOf(kind) })
      assert.equal(slotOf<AnyHook>(bus, 'onTest'), slot)
      await slot.call('a')
      assert.equal(calls, 1)
    })

    it('calls no listener after the bus is closed', async () => {
      const { bus, slot } = setUp()
      let calls = 0
      const dispose = bus.on('first', 'onTest', () => void calls++)
      bus.close()
      bus.on('first', 'onTest', () => void calls++)
      await slot.call('a')
      dispose()
      assert.equal(slot.active, false)
      assert.equal(calls, 0)
    })

    it('times the first of 256 calls', async () => {
      const { bus, slot, listener, clock } = setUp()
      let calls = 0
      bus.on('first', 'onTest', () => {
        calls++
        clock.advance(calls === 1 ? 3 : 500)
      })
      assert.equal(listener().meanNs, 0)
      for (let call = 0; call < 256; call++) await slot.call('a')
      assert.equal(listener().meanNs, 3_000_000)
      await slot.call('a')
      assert.equal(listener().meanNs, 251_500_000)
    })

    if (kind !== 'notify') {
      it('times a listener out after its own deadline, or else that of the hook', async () => {
        const { bus, slot, listener } = setUp()
        bus.on('first', 'onTest', { handler: never, timeoutMs: 2 })
        await settled(slot.call('a'))
        assert.equal(listener().timeouts, 1)
        assert.equal(listener().pending, 0)

        const other = busWith<AnyHook>(kind, { timeoutMs: 2 })
        other.bus.on('first', 'onTest', never)
        await settled((other.slot as unknown as Callable).call('a'))
        assert.equal(other.listener().timeouts, 1)
      })

      it('leaves no timer behind and counts a rejection after the deadline once', async () => {
        const { bus, slot, listener } = setUp()
        const timers = liveTimers()
        let fail = (_error: Error): void => {}
        bus.on('first', 'onTest', { handler: () => new Promise((_, reject) => (fail = reject)), timeoutMs: 2 })
        bus.on('second', 'onTest', async () => undefined)
        await settled(slot.call('a'))
        fail(new Error('too late to matter'))
        await new Promise(setImmediate)
        assert.equal(liveTimers(), timers)
        assert.deepEqual([listener().timeouts, listener().errors], [1, 0])
      })
    }
  })
}
