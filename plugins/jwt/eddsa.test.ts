import assert from 'node:assert/strict'
import { createSecretKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { signEdDsa, verifyEdDsa } from './eddsa.js'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const rules = { issuer: 'app', audience: 'api' }
const base = { iss: 'app', aud: 'api', sub: 'ada' }
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const signed = (header: unknown, payload: unknown): string => {
  const text = `${part(header)}.${part(payload)}`
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
}

describe('EdDSA tokens', () => {
  it('are verified by their public key', () => {
    assert.deepEqual(verifyEdDsa(signEdDsa(base, privateKey, 'kid'), publicKey, rules), base)
    assert.deepEqual(verifyEdDsa(signed({ alg: 'EdDSA' }, { ...base, aud: ['x', 'api'] }), publicKey, rules), {
      ...base,
      aud: ['x', 'api'],
    })
  })

  it('are refused with another key, header, signature, issuer or audience', () => {
    const good = signEdDsa(base, privateKey, 'kid')
    const [head = '', body = '', tail = ''] = good.split('.')
    const bad: Readonly<Record<string, string>> = {
      'no algorithm': signed({}, base),
      'another algorithm': signed({ alg: 'HS256' }, base),
      none: `${part({ alg: 'none' })}.${body}.`,
      'another payload': `${head}.${part({ ...base, sub: 'eve' })}.${tail}`,
      'another header': `${part({ alg: 'EdDSA', kid: 'x' })}.${body}.${tail}`,
      'no signature': `${head}.${body}.`,
      'a cut signature': `${head}.${body}.${tail.slice(0, -4)}`,
      'a padded signature': `${good}==`,
      'another spelling of the signature': `${head}.${body}.${tail.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1))}`,
      'another issuer': signed({ alg: 'EdDSA' }, { ...base, iss: 'App' }),
      'another audience': signed({ alg: 'EdDSA' }, { ...base, aud: 'apis' }),
      'no object': signed({ alg: 'EdDSA' }, null),
      'no JSON': `${Buffer.from('x').toString('base64url')}.${body}.${tail}`,
    }
    for (const [what, token] of Object.entries(bad)) assert.throws(() => verifyEdDsa(token, publicKey, rules), Error, what)
    assert.throws(() => verifyEdDsa(good, generateKeyPairSync('ed25519').publicKey, rules))
    assert.throws(() => verifyEdDsa(good, createSecretKey(Buffer.from('secret')), rules))
  })
})
