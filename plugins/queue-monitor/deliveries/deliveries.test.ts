import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { defaultRetries, retryAfterMs, retryDelay } from './retry.js'
import { secretFault, signedHeaders } from './signature.js'

describe('the signature of a delivery', () => {
  it('is verified by the package standardwebhooks, for base64 and plain secrets', () => {
    const plain = 'a plain secret of more than 24 bytes'
    const coded = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    const body = '{"event":"job.completed","data":"é"}'
    const headers = signedHeaders([plain, coded], 'msg_1', Date.now(), body)
    new Webhook(coded).verify(body, headers)
    new Webhook(plain, { format: 'raw' }).verify(body, headers)
    assert.throws(() => new Webhook(`whsec_${Buffer.alloc(24, 8).toString('base64')}`).verify(body, headers))
  })

  it('requires a secret of at least 24 bytes', () => {
    assert.equal(secretFault('x'.repeat(24)), undefined)
    assert.match(secretFault('x'.repeat(23)) ?? '', /24 bytes/)
    assert.match(secretFault(`whsec_${Buffer.alloc(23).toString('base64')}`) ?? '', /24 bytes/)
    assert.match(secretFault('whsec_not base64!') ?? '', /base64/)
  })
})

describe('the delay before the next attempt', () => {
  it('follows the schedule with ±20 % jitter, and stays at its last step', () => {
    for (const [i, delay] of defaultRetries.entries()) {
      assert.equal(retryDelay(defaultRetries, i + 1, 0.5), delay)
      assert.equal(retryDelay(defaultRetries, i + 1, 0), delay * 0.8)
      assert.equal(retryDelay(defaultRetries, i + 1, 1), Math.round(delay * 1.2))
    }
    assert.equal(retryDelay(defaultRetries, 99, 0.5), 50_400_000)
  })

  it('is at least the delay requested by the receiver, up to a day', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    assert.equal(retryAfterMs('120', now), 120_000)
    assert.equal(retryAfterMs('Thu, 01 Jan 2026 00:01:00 GMT', now), 60_000)
    for (const value of [undefined, 'soon', '-1', 'Wed, 31 Dec 2025 00:00:00 GMT']) assert.equal(retryAfterMs(value, now), 0)
    assert.equal(retryDelay([1_000], 1, 0.5, 120_000), 120_000)
    assert.equal(retryDelay([1_000], 1, 0.5, 1e12), 86_400_000)
  })
})
