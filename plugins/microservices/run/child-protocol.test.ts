import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { fromChild } from './child-protocol.js'

const claim = { keyId: 'k', timestamp: '1', nonce: 'n', signature: 's' }

test('messages of the child are read from their envelope', () => {
  for (const message of [
    { type: 'ready' },
    { type: 'failed', message: 'why' },
    { type: 'nonce', id: 1, claim },
    { type: 'log', level: 'warn', facts: { a: 1 }, message: 'text' },
  ]) {
    assert.deepEqual(fromChild({ zinService: message }), message)
    assert.equal(fromChild(message), undefined, 'without the envelope')
  }
})

test('anything else that the process sends is ignored', () => {
  const text = fc.oneof(fc.constantFrom('ready', 'failed', 'nonce', 'log', 'info', '__proto__', 'toString'), fc.string())
  const part = fc.oneof(fc.anything(), text)
  const shaped = fc.record({ type: part, level: part, message: part, facts: part, id: part, claim: part }, { requiredKeys: [] })
  const sent = fc.oneof(fc.anything(), fc.record({ zinService: fc.oneof(shaped, fc.anything()) }))
  fc.assert(
    fc.property(sent, (value) => {
      const message = fromChild(value)
      if (message === undefined) return
      assert.ok(['ready', 'failed', 'nonce', 'log'].includes(message.type))
      if (message.type === 'log') assert.ok(['trace', 'debug', 'info', 'warn', 'error', 'fatal'].includes(message.level))
      if (message.type === 'log' || message.type === 'failed') assert.equal(typeof message.message, 'string')
      if (message.type === 'nonce') assert.ok(Number.isSafeInteger(message.id) && typeof message.claim.nonce === 'string')
    }),
    { numRuns: 2_000 },
  )
})

test('long texts are cut', () => {
  const message = fromChild({ zinService: { type: 'failed', message: 'x'.repeat(1_000_000) } })
  assert.equal(message?.type === 'failed' ? message.message.length : 0, 10_000)
})
