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
})
