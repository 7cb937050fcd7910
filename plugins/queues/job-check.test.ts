import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { checkJob, isStorableText } from './job-check.js'

const refused = (data: unknown): boolean => {
  try {
    checkJob('q', 'job', data, {}, 1_000_000)
    return false
  } catch {
    return true
  }
}

describe('the check of a job', () => {
  it('rejects exactly the texts that contain NUL or a lone surrogate', () => {
    const text = fc.string({ unit: fc.constantFrom('\0', '\ud83c', '\udf88', '\\', 'u', '0', 'd', '8', '"', 'a', '\n') })
    const bad = (value: string): boolean => value.includes('\0') || Buffer.from(value).toString() !== value
    fc.assert(fc.property(text, (value) => refused({ [value]: [value] }) === bad(value) && isStorableText(value) !== bad(value)))
  })

  it('names the rejected part', () => {
    for (const [part, data, name, options] of [
      ['data', ['\udf88'], 'job', {}],
      ['name', null, 'a\ud83c', {}],
      ['id', null, 'job', { jobId: '\0' }],
      ['deduplication id', null, 'job', { deduplication: { id: '\udf88' } }],
    ] as const) {
      assert.throws(() => checkJob('q', name, data, options, 100), {
        code: 'QUEUE_INVALID_JOB',
        message: new RegExp(`its ${part} contains`),
      })
    }
  })

  it('accepts the priorities that BullMQ supports', () => {
    for (const priority of [0, 1, 2_097_151]) checkJob('q', 'job', null, { priority }, 100)
    for (const priority of [-1, 0.5, 2_097_152, Number.NaN]) {
      assert.throws(() => checkJob('q', 'job', null, { priority }, 100), {
        code: 'QUEUE_INVALID_JOB',
        message: /its priority is .* 2097151/,
      })
    }
  })

  it('rejects values that JSON cannot represent, and accepts missing data', () => {
    for (const data of [() => 1, Symbol('x'), 1n]) assert.throws(() => checkJob('q', 'job', data, {}, 100), { code: 'QUEUE_INVALID_JOB' })
    for (const data of [undefined, null, 0, '']) checkJob('q', 'job', data, {}, 100)
  })

  it('counts bytes, not characters, and accepts exactly the limit', () => {
    checkJob('q', 'job', 'é'.repeat(10), {}, 22)
    assert.throws(() => checkJob('q', 'job', 'é'.repeat(10), {}, 21), { code: 'PAYLOAD_TOO_LARGE' })
  })
})
