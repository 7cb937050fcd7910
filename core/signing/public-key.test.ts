import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { isPublicKey, publicSigningKey } from './public-key.js'

const ff = (count: number): string => 'ff'.repeat(count)
const zeros = (count: number): string => '00'.repeat(count)
/** Points of small order with the sign bit of x cleared; "Taming the many EdDSAs", table 6. */
const weak = [
  `01${zeros(31)}`,
  `ec${ff(30)}7f`,
  zeros(32),
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  // Non-canonical encodings of the same elements, not below the prime.
  `ed${ff(30)}7f`,
  `ee${ff(30)}7f`,
]
const withSign = (hex: string): string => `${hex.slice(0, 62)}${(Number.parseInt(hex.slice(62), 16) | 0x80).toString(16)}`
const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')

describe('a public key of a device', () => {
  it('accepts generated keys', () => {
    for (let round = 0; round < 20; round += 1) {
      const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
      assert.equal(isPublicKey(x), true)
    }
  })

  it('rejects points of small order, for which one signature is valid for many messages, with either sign and in any encoding', () => {
    const constant = Buffer.from(`01${zeros(63)}`, 'hex')
    const isForgeable = (hex: string): boolean => {
      const { key } = publicSigningKey(base64url(hex))
      return Array.from({ length: 200 }, (_, index) => `message ${index}`).some((text) => verify(null, Buffer.from(text), key, constant))
    }
    // OpenSSL in later versions of Node refuses these keys itself.
    const showsWeakness = isForgeable(weak[0] as string)
    for (const hex of [...weak, ...weak.map(withSign)]) {
      if (showsWeakness) assert.ok(isForgeable(hex), `${hex} is not a weak key`)
      assert.equal(isPublicKey(base64url(hex)), false, hex)
    }
  })

  it('rejects text of another form or length, and encodings above the prime', () => {
    const texts = ['', 'A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}B`, base64url(`f0${ff(30)}7f`), base64url(ff(32))]
    for (const text of texts) assert.equal(isPublicKey(text), false, text)
  })
})
