import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fromWire, toWire } from './wire-error.js'

it('all texts of an error in transit are short and storable', () => {
  const long = `E\0${'x'.repeat(1024 * 1024)}`
  const wire = toWire(Object.assign(new Error(long), { name: long, code: long, stack: long }))
  assert.deepEqual([wire.name, wire.code], Array(2).fill(`E\uFFFD${'x'.repeat(98)}… (${1024 * 1024 - 98} more characters)`))
  assert.ok(JSON.stringify(wire).length < 50_000)
  assert.ok(!JSON.stringify(wire).includes('\\u0000'))
})

it('an error in transit keeps a short name and code', () => {
  for (const code of ['E_BROKEN', 7]) {
    const { name, code: kept } = fromWire(toWire(Object.assign(new TypeError('broken'), { code }))) as Error & { code?: unknown }
    assert.deepEqual([name, kept], ['TypeError', code])
  }
})
