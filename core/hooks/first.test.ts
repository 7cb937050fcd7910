import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { First } from './kinds.js'
import { testKind } from './test-kind.js'
import { busWith, never } from './tester.js'

type Hook = First<[keyId: string], string | null>

testKind('first')

describe('a first hook', () => {
  it('returns the first value that is not undefined, and calls no further listener', async () => {
    const { bus, slot, listener } = busWith<Hook>('first')
    bus.on('first', 'onTest', async () => undefined)
    bus.on('second', 'onTest', (keyId: string) => `secret of ${keyId}`)
    bus.on('third', 'onTest', () => 'weaker')
    assert.equal(await slot.call('k1'), 'secret of k1')
    assert.equal(listener(2).calls, 0)
  })

  it('accepts null as a value', async () => {
    const { bus, slot } = busWith<Hook>('first')
    bus.on('first', 'onTest', () => null)
    bus.on('second', 'onTest', () => 'other')
    assert.equal(await slot.call('k1'), null)
  })

  it('returns undefined if no listener returns a value', async () => {
    const { bus, slot } = busWith<Hook>('first')
    assert.equal(await slot.call('k1'), undefined)
    bus.on('first', 'onTest', () => undefined)
    assert.equal(await slot.call('k1'), undefined)
  })

  it('rejects if a listener fails or times out, instead of calling a weaker one', async () => {
    const { bus, slot, listener } = busWith<Hook>('first')
    const cause = new Error('store is down')
    const dispose = bus.on('first', 'onTest', () => Promise.reject(cause))
    bus.on('second', 'onTest', () => 'weaker')
    await assert.rejects(slot.call('k1'), { code: 'ZIN_HOOK_FAILED', cause, details: { plugin: 'first', hook: 'onTest' } })
    dispose()
    bus.on('first', 'onTest', { handler: never, timeoutMs: 2 })
    await assert.rejects(slot.call('k1'), { code: 'ZIN_HOOK_TIMEOUT', status: 503 })
    assert.equal(listener(1).calls, 0)
  })
})
