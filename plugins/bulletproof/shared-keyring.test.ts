import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { signingKey } from 'zin/signing'
import { createSharedKeyring } from './shared-keyring.js'

const idsOf = (settings: Record<string, string>, now = 0, max?: number) =>
  createSharedKeyring(settings, max)
    .keys(now)
    .map((key) => key.id)
const id = (secret: string): string => signingKey(secret).id

describe('the shared secret', () => {
  it('is the first of its three settings that is not empty', () => {
    assert.deepEqual(idsOf({ BULLETPROOF_SIGNING_SECRET: 'a', AUTH_KEY: 'b', APP_KEY: 'c' }), [id('a')])
    assert.deepEqual(idsOf({ BULLETPROOF_SIGNING_SECRET: '', AUTH_KEY: 'b', APP_KEY: 'c' }), [id('b')])
    assert.equal(createSharedKeyring({ APP_KEY: 'c' }).source, 'APP_KEY')
    assert.deepEqual(idsOf({}), [])
  })

  it('is followed by its valid backups, up to the limit', () => {
    const settings = {
      APP_KEY: 'now',
      BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify([
        'b1',
        { secret: 'b2', notAfter: 1000 },
        { secret: 'b3', notAfter: '1970-01-01T00:00:02Z' },
      ]),
    }
    assert.deepEqual(idsOf(settings, 1000), ['now', 'b1', 'b2', 'b3'].map(id))
    assert.deepEqual(idsOf(settings, 1001), ['now', 'b1', 'b3'].map(id))
    assert.deepEqual(idsOf(settings, 1001, 1), ['now', 'b1', 'b3'].map(id))
    assert.deepEqual(idsOf(settings, 2001, 0), [id('now')])
    assert.equal(createSharedKeyring(settings).slots, 4)
    assert.equal(createSharedKeyring({}).slots, 1)
  })

  it('has no more backups than its limit', () => {
    const backups = ['1', '2', '3', '4', '5', '6']
    assert.equal(idsOf({ BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(backups) }, 0, 5).includes(id('6')), false)
    assert.equal(idsOf({ BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(backups) }).includes(id('6')), true)
  })

  it('ignores backups below a minimum length, and counts them', () => {
    const long = 'x'.repeat(32)
    const settings = { APP_KEY: 'now', BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(['weak', long, { secret: 'weak too' }]) }
    const keyring = createSharedKeyring(settings, 5, 32)
    assert.deepEqual(
      keyring.keys(0).map((key) => key.id),
      ['now', long].map(id),
    )
    assert.deepEqual([keyring.shortBackups, keyring.slots], [2, 2])
    assert.equal(createSharedKeyring(settings).shortBackups, 0)
  })
})
