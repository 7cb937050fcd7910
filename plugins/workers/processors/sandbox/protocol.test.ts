import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../../scripts/testing/properties.js'
import { type FromChild, fromChild, jobMethods } from './protocol.js'

const error = { name: 'TypeError', message: 'broken', stack: 'at', code: 7, outcome: 'DelayedError' } as const
const messages: readonly FromChild[] = [
  { type: 'ready' },
  { type: 'unloadable', why: 'why', missing: true },
  { type: 'done', run: 1, json: undefined },
  { type: 'done', run: 1, json: '{}' },
  { type: 'failed', run: 1, error },
  { type: 'call', run: 1, call: 2, method: 'log', args: ['row'] },
  { type: 'rest', run: 1, left: ['Timeout'] },
  { type: 'fatal', error, run: 1 },
  { type: 'fatal', error, run: undefined },
]

test('messages of a thread or process are read from their envelope', () => {
  for (const message of messages) {
    assert.deepEqual(fromChild({ zinProcessor: message }), message)
    assert.equal(fromChild(message), undefined, 'without the envelope')
  }
})

test('anything else that a processor sends is ignored, and what has the form of a message has its types', () => {
  const text = fc.oneof(
    fc.constantFrom(...messages.map(({ type }) => type), ...jobMethods, 'remove', '__proto__', 'NODE_HANDLE_ACK'),
    fc.string(),
  )
  const part = fc.oneof(fc.anything(), text, fc.integer(), fc.array(fc.anything()))
  const parts = {
    type: part,
    run: part,
    call: part,
    method: part,
    args: part,
    json: part,
    error: part,
    why: part,
    missing: part,
    left: part,
  }
  const shaped = fc.record(parts, { requiredKeys: [] })
  const sent = fc.oneof(fc.anything(), fc.record({ zinProcessor: fc.oneof(shaped, fc.anything()) }))
  fc.assert(
    fc.property(sent, (value) => {
      const message = fromChild(value)
      if (message === undefined) return
      if ('run' in message && message.run !== undefined) assert.ok(Number.isSafeInteger(message.run))
      if ('error' in message) assert.deepEqual([typeof message.error.name, typeof message.error.message], ['string', 'string'])
      if (message.type === 'call') assert.ok(jobMethods.includes(message.method) && Array.isArray(message.args))
      if (message.type === 'done') assert.ok(message.json === undefined || typeof message.json === 'string')
      if (message.type === 'rest') assert.ok(message.left.length <= 10 && message.left.every((one) => typeof one === 'string'))
      if (message.type === 'unloadable') assert.deepEqual([typeof message.why, typeof message.missing], ['string', 'boolean'])
    }),
    { numRuns: 3_000 },
  )
})

test('long texts are cut', () => {
  const long = 'x'.repeat(1_000_000)
  const failed = fromChild({ zinProcessor: { type: 'failed', run: 1, error: { name: long, message: long, stack: long, code: long } } })
  assert.ok(JSON.stringify(failed).length < 100_000)
  assert.ok(JSON.stringify(fromChild({ zinProcessor: { type: 'unloadable', why: long } })).length < 100_000)
})
