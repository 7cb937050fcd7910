import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { KeepJobError } from 'zin/plugins/queues'
import { Cipher, isEncrypted } from './cipher.js'
import { isStale, open, seal } from './envelope.js'
import { encryptionKeys } from './key-ring.js'

const key = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`
const settings = (WORKER_ENCRYPTION_KEYS = '', APP_KEY = '', APP_KEY_BK = '') => ({ WORKER_ENCRYPTION_KEYS, APP_KEY, APP_KEY_BK })
const cipherOf = (...args: Parameters<typeof settings>): Cipher =>
  new Cipher(encryptionKeys(settings(...args)) ?? assert.fail('there is a key'))
const place = { queue: 'emails', part: 'data' }

describe('the keys of stored jobs', () => {
  it('are those of WORKER_ENCRYPTION_KEYS in their order, then those of the master keys', () => {
    const keys = encryptionKeys(settings(`${key('b')}, ${key('a')}`, 'master', '["earlier"]'))
    assert.deepEqual(keys?.ids.slice(0, 2), ['b', 'a'])
    assert.equal(keys?.ids.length, 4)
    assert.equal(keys?.current.id, 'b')
    assert.equal(encryptionKeys(settings()), undefined)
    assert.equal(encryptionKeys(settings('', 'master'))?.current.id, encryptionKeys(settings('', 'new', '["master"]'))?.ids[1])
  })

  it('are refused with the number of the entry, the problem and how to generate one, and never quoted', () => {
    const secret = randomBytes(16).toString('base64')
    for (const [list, says] of [
      [`a:${secret}`, /Entry 1 .* with the id "a" has 16 bytes instead of 32/],
      [`${key('a')},${key('a')}`, /Entry 2 .* repeats the id "a"/],
      [secret, /Entry 1 .* has no id/],
      ['a:not base64!', /Entry 1 .* is not base64/],
      ['a b:aaaa', /has no id/],
    ] as const) {
      assert.throws(
        () => encryptionKeys(settings(list)),
        (error) => {
          assert.equal((error as { code?: string }).code, 'COMPLIANCE_KEY_INVALID')
          assert.match(String(error), says)
          assert.ok(!String(error).includes(secret))
          return true
        },
      )
    }
  })
})

describe('an encrypted text', () => {
  it('can be decrypted with its key, only in its place, and is never the same twice', () => {
    const cipher = cipherOf(key('a'))
    const [one, two] = [cipher.encrypt('a secret ☃', place), cipher.encrypt('a secret ☃', place)]
    assert.notEqual(one, two)
    assert.match(one, /^zc1\.a\.[A-Za-z0-9_-]+$/)
    assert.ok(isEncrypted(one))
    assert.equal(cipher.decrypt(one, place), 'a secret ☃')
    for (const elsewhere of [
      { ...place, queue: 'other' },
      { ...place, part: 'result' },
    ]) {
      assert.throws(() => cipher.decrypt(one, elsewhere), /was changed in the store, or moved from another queue or part/)
    }
    const changed = one.slice(0, -2) + (one.endsWith('AA') ? 'BB' : 'AA')
    assert.throws(() => cipher.decrypt(changed, place), /was changed/)
  })

  it('has a unique nonce', () => {
    const cipher = cipherOf(key('a'))
    const nonces = Array.from({ length: 1000 }, () => cipher.encrypt('', place).split('.')[2]?.slice(0, 16))
    assert.equal(new Set(nonces).size, 1000)
  })

  it('can be decrypted after a rotation, and names the missing key without it', () => {
    const [old, present] = [key('2025'), key('2026')]
    const stored = cipherOf(old).encrypt('kept', place)
    const rotated = cipherOf(`${present},${old}`)
    assert.equal(rotated.decrypt(stored, place), 'kept')
    assert.ok(rotated.isStale(stored))
    assert.ok(!rotated.isStale(rotated.encrypt('kept', place)))
    assert.throws(
      () => cipherOf(present).decrypt(stored, place),
      (error) => KeepJobError.isBehind(error) && /the key "2025", which is not configured \(configured: 2026\)/.test(String(error)),
    )
    const derived = cipherOf('', 'master').encrypt('kept', place)
    assert.equal(cipherOf('', 'new master', '["master"]').decrypt(derived, place), 'kept')
    assert.equal(cipherOf(present, 'master').decrypt(derived, place), 'kept')
  })
})

describe('a sealed value', () => {
  it('keeps clear fields readable, and ignores them on decryption', () => {
    const cipher = cipherOf(key('a'))
    const value = { order: { id: 7, note: 'secret' }, to: 'ann' }
    const sealed = seal(cipher, value, place, ['order.id', 'missing']) as { encrypted: string; clear: object }
    assert.deepEqual(sealed.clear, { 'order.id': 7 })
    assert.doesNotMatch(JSON.stringify(sealed), /secret|ann/)
    assert.deepEqual(open(cipher, { ...sealed, clear: { 'order.id': 8 } }, place), value)
  })

  it('may be any JSON; plaintext values pass, even those that only look sealed', () => {
    const cipher = cipherOf(key('a'))
    for (const value of [null, 0, '', 'text', [1], { encrypted: 'x' }])
      assert.deepEqual(open(cipher, seal(cipher, value, place), place), value)
    assert.equal(seal(cipher, undefined, place), undefined)
    for (const plain of [
      null,
      1,
      'text',
      { encrypted: 'x' },
      { encrypted: 'zc1.a.short' },
      { encrypted: cipher.encrypt('1', place), more: 1 },
    ]) {
      assert.equal(open(cipher, plain, place), undefined)
    }
  })

  it('is stale if it is plaintext or has an earlier key', () => {
    const [old, present] = [key('old'), key('new')]
    const cipher = cipherOf(`${present},${old}`)
    assert.ok(isStale(cipher, seal(cipherOf(old), { a: 1 }, place)))
    assert.ok(isStale(cipher, { a: 1 }))
    assert.ok(isStale(cipher, 'plain'))
    assert.ok(!isStale(cipher, seal(cipher, { a: 1 }, place)))
    assert.ok(!isStale(cipher, {}))
    assert.ok(!isStale(cipher, 50))
  })
})
