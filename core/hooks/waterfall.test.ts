import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Waterfall } from './kinds.js'
import { testKind } from './test-kind.js'
import { busWith, never } from './tester.js'

type Hook = Waterfall<readonly string[], [worker: string]>

testKind('waterfall')

describe('a waterfall hook', () => {
  it('passes the value on; undefined leaves it unchanged', async () => {
    const { bus, slot } = busWith<Hook>('waterfall')
    bus.on('first', 'onTest', (value: readonly string[], worker: string) => [...value, worker])
    bus.on('second', 'onTest', () => undefined)
    bus.on('third', 'onTest', async (value: readonly string[]) => [...value, 'third'])
    assert.deepEqual(await slot.call(['start'], 'emails'), ['start', 'emails', 'third'])
  })

  it('returns the value itself without listeners', async () => {
    const value = ['start']
    assert.equal(await busWith<Hook>('waterfall').slot.call(value, 'emails'), value)
  })

  it('passes the value without a promise unless a listener returns one', async () => {
    const { bus, slot } = busWith<Hook>('waterfall')
    bus.on('first', 'onTest', (value: readonly string[], worker: string) => [...value, worker])
    bus.on('third', 'onTest', () => undefined)
    assert.deepEqual(slot.pass(['start'], 'emails'), ['start', 'emails'])
    bus.on('second', 'onTest', async (value: readonly string[]) => [...value, 'second'])
    const passed = slot.pass(['start'], 'emails')
    assert.ok(passed instanceof Promise)
    assert.deepEqual(await passed, ['start', 'emails', 'second'])
    bus.on('third', 'onTest', () => {
      throw new Error('no such queue')
    })
    await assert.rejects(slot.call([], 'emails'), { code: 'ZIN_HOOK_FAILED', details: { plugin: 'third', hook: 'onTest' } })
    const throwing = busWith<Hook>('waterfall')
    throwing.bus.on('first', 'onTest', () => {
      throw new Error('no such queue')
    })
    assert.throws(() => throwing.slot.pass([], 'emails'), { code: 'ZIN_HOOK_FAILED' })
  })

  it('rejects with the plugin and the hook if a listener fails or times out', async () => {
    const { bus, slot } = busWith<Hook>('waterfall')
    const cause = new Error('no such queue')
    const dispose = bus.on('first', 'onTest', () => {
      throw cause
    })
    await assert.rejects(slot.call([], 'emails'), { code: 'ZIN_HOOK_FAILED', cause, details: { plugin: 'first', hook: 'onTest' } })
    dispose()
    bus.on('second', 'onTest', { handler: never, timeoutMs: 2 })
    await assert.rejects(slot.call([], 'emails'), { code: 'ZIN_HOOK_TIMEOUT', message: /^second: .*"onTest"/ })
  })
})
