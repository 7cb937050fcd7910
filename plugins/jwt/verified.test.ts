import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VerifiedTokens } from './verified.js'

describe('the cache of verified tokens', () => {
  it('returns and stores deep copies', () => {
    for (const payload of [
      { sub: '7', role: 'user' },
      { sub: '7', role: 'user', aud: ['app'], may: { read: ['a'] } },
    ]) {
      const known = new VerifiedTokens()
      const told: Record<string, unknown> = structuredClone(payload)
      known.add('token', told)
      told.role = 'admin'
      const first = known.payloadOf('token') as { role: string; may?: { read: string[] } }
      assert.deepEqual(first, payload)
      first.role = 'admin'
      first.may?.read.push('b')
      assert.deepEqual(known.payloadOf('token'), payload)
    }
  })

  it('keeps a claim named __proto__ as a claim, and does not return an unknown token', () => {
    const known = new VerifiedTokens()
    known.add('token', JSON.parse('{"sub":"7","__proto__":1}'))
    const payload = known.payloadOf('token') ?? {}
    assert.deepEqual(Object.keys(payload), ['sub', '__proto__'])
    assert.equal(Object.getPrototypeOf(payload), Object.prototype)
    assert.equal(known.payloadOf('token2'), undefined)
  })

  it('keeps at most 10,000 tokens, and those that are used again', () => {
    const known = new VerifiedTokens()
    known.add('used', { sub: '1' })
    for (let i = 0; i < 30_000; i++) {
      known.add(`token ${i}`, { sub: '7' })
      assert.deepEqual(known.payloadOf('used'), { sub: '1' })
    }
    const kept = Array.from({ length: 30_000 }, (_, i) => `token ${i}`).filter((token) => known.payloadOf(token) !== undefined)
    assert.ok(kept.length <= 10_000 && kept.length >= 4_000, `${kept.length} are kept`)
    assert.ok(kept.includes('token 29999'))
  })

  it('keeps fewer long tokens', () => {
    const known = new VerifiedTokens()
    const long = 'x'.repeat(8_000)
    for (let i = 0; i < 1_000; i++) known.add(`${i}${long}`, { sub: '7' })
    const kept = Array.from({ length: 1_000 }, (_, i) => `${i}${long}`).filter((token) => known.payloadOf(token) !== undefined)
    assert.ok(kept.length * long.length <= 2 * 2 ** 21, `${kept.length} are kept`)
    assert.ok(kept.length > 100)
  })
})
