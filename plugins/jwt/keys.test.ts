import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { type KeyMaterial, readKeys } from './keys.js'

const secret = 'a-secret-of-at-least-thirty-two-bytes'
const none: KeyMaterial = { algorithm: 'HS256', secret: '', appKey: '', privateKey: '', publicKey: '', production: true }

function pair(kind: 'rsa' | 'ec', size = 2048): { publicKey: string; privateKey: string } {
  const { publicKey, privateKey } =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: size })
      : generateKeyPairSync('ec', { namedCurve: size === 2048 ? 'P-256' : 'P-384' })
  return {
    publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })),
    privateKey: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}

describe('keys of the tokens', () => {
  it('uses JWT_SECRET as is and derives another key from APP_KEY', () => {
    const own = readKeys({ ...none, secret, appKey: 'another-key-of-more-than-thirty-two-bytes' })
    assert.equal(own.signing?.export().toString(), secret)
    const derived = readKeys({ ...none, appKey: secret })
    assert.equal(derived.signing?.export().length, 32)
    assert.notEqual(derived.signing?.export().toString(), secret)
    assert.deepEqual([own.warnings, derived.warnings], [[], []])
  })

  it('verifies tokens with previous secrets, too, and signs with the current one', () => {
    const [old, older] = ['an-earlier-secret-of-more-than-32-bytes', 'an-even-earlier-secret-of-over-32-bytes']
    const before = readKeys({ ...none, secret: old })
    const keys = readKeys({ ...none, secret, earlierSecrets: [old, older] })
    assert.equal(keys.signing?.export().toString(), secret)
    assert.deepEqual([keys.kid, keys.verifying.size], [readKeys({ ...none, secret }).kid, 3])
    assert.equal(keys.verifying.get(before.kid)?.export().toString(), old)
    const derived = readKeys({ ...none, appKey: secret, earlierSecrets: [old] })
    assert.equal(derived.verifying.get(before.kid)?.export().toString(), old)
    assert.throws(() => readKeys({ ...none, secret, earlierSecrets: [old, 'short'] }), { message: /JWT_SECRET_BK has 5 bytes/ })
  })

  it('verifies tokens of previous master keys, but not with a secret of its own', () => {
    const old = 'an-earlier-master-key-of-over-32-bytes'
    const before = readKeys({ ...none, appKey: old })
    const rotated = readKeys({ ...none, appKey: secret, earlierAppKeys: [old] })
    assert.equal(rotated.kid, readKeys({ ...none, appKey: secret }).kid)
    assert.deepEqual(rotated.verifying.get(before.kid)?.export(), before.signing?.export())
    assert.deepEqual([...rotated.former], [before.kid])
    const own = readKeys({ ...none, secret, appKey: secret, earlierAppKeys: [old] })
    assert.deepEqual([own.verifying.has(before.kid), own.former.size], [false, 0])
    assert.throws(() => readKeys({ ...none, appKey: secret, earlierAppKeys: ['short'] }), { message: /APP_KEY_BK has 5 bytes/ })
  })

  it('gives every process of an app the same key and key id', () => {
    assert.equal(readKeys({ ...none, appKey: secret }).kid, readKeys({ ...none, appKey: secret }).kid)
    assert.notEqual(readKeys({ ...none, appKey: secret }).kid, readKeys({ ...none, appKey: `${secret}!` }).kid)
  })

  it('refuses to run in production without a key of at least 32 bytes, and shows how to create one', () => {
    assert.throws(() => readKeys(none), { code: 'JWT_KEY_MISSING', message: /JWT_SECRET or APP_KEY.*randomBytes/ })
    assert.throws(() => readKeys({ ...none, secret: 'short' }), { code: 'JWT_KEY_TOO_SHORT', message: /JWT_SECRET has 5 bytes/ })
    assert.throws(() => readKeys({ ...none, appKey: 'x'.repeat(31) }), { code: 'JWT_KEY_TOO_SHORT', message: /APP_KEY has 31 bytes/ })
  })

  it('generates a key for the process outside of production and warns about it', () => {
    const made = readKeys({ ...none, production: false })
    assert.match(made.warnings.join(), /neither JWT_SECRET nor APP_KEY/)
    assert.notEqual(made.kid, readKeys({ ...none, production: false }).kid)
    assert.match(readKeys({ ...none, secret: 'short', production: false }).warnings.join(), /production refuses/)
  })

  it('never puts a secret into an error or a warning', () => {
    assert.throws(
      () => readKeys({ ...none, secret: 'tiny-secret' }),
      (error: Error) => !error.message.includes('tiny-secret'),
    )
    assert.doesNotMatch(readKeys({ ...none, secret: 'tiny-secret', production: false }).warnings.join(), /tiny-secret/)
  })

  it('reads PEM keys with escaped line breaks and derives the public key', () => {
    const { privateKey, publicKey } = pair('rsa')
    const keys = readKeys({ ...none, algorithm: 'RS256', privateKey: privateKey.replaceAll('\n', '\\n') })
    assert.equal(keys.verifying.get(keys.kid)?.export({ type: 'spki', format: 'pem' }), publicKey)
  })

  it('only verifies tokens without a private key', () => {
    assert.equal(readKeys({ ...none, algorithm: 'ES256', publicKey: pair('ec').publicKey }).signing, undefined)
  })

  it('refuses PEM keys that are missing, unreadable, of another type, weak, or not a pair', () => {
    const [rsa, ec] = [pair('rsa'), pair('ec')]
    const cases: readonly [Partial<KeyMaterial>, RegExp][] = [
      [{ algorithm: 'RS256' }, /JWT_PRIVATE_KEY/],
      [{ algorithm: 'RS256', privateKey: 'no pem' }, /JWT_PRIVATE_KEY cannot be used: it is not a PEM key/],
      [{ algorithm: 'RS256', privateKey: ec.privateKey }, /RS256 requires an RSA key/],
      [{ algorithm: 'RS256', privateKey: pair('rsa', 1024).privateKey }, /2048 bits/],
      [{ algorithm: 'ES256', privateKey: rsa.privateKey }, /P-256/],
      [{ algorithm: 'ES256', privateKey: pair('ec', 384).privateKey }, /P-256/],
      [{ algorithm: 'ES256', privateKey: ec.privateKey, publicKey: pair('ec').publicKey }, /not the public key/],
    ]
    for (const [material, message] of cases) assert.throws(() => readKeys({ ...none, ...material }), { message })
  })
})
