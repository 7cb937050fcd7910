import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { signingKey } from './key.js'
import { createSharedKeyring, parseBackups, parseSecrets } from './keyring.js'
import { createSealer } from './seal.js'

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

  it('is followed by its backups, as many as are wanted, while they are good', () => {
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

  it('keeps five backups unless told otherwise, so that the sixth is no longer tried', () => {
    const backups = ['1', '2', '3', '4', '5', '6']
    assert.equal(idsOf({ BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(backups) }).includes(id('6')), false)
    assert.equal(idsOf({ BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(backups) }, 0, 6).includes(id('6')), true)
  })

  it('has no backups that are too short, when that is asked for, and counts them', () => {
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

  it('of other settings have no end', () => {
    assert.deepEqual(parseSecrets('["a","b"]', 'APP_KEY_BK'), ['a', 'b'])
    assert.throws(() => parseSecrets('["a",{"secret":"hush","notAfter":1}]', 'APP_KEY_BK'), {
      code: 'SIGNING_SECRET_BACKUPS_INVALID',
      message: /^APP_KEY_BK: entry 1 has a "notAfter"/,
    })
  })

  it('refuses malformed backups without saying what they hold', () => {
    for (const text of [
      'hush',
      '{"a":"hush"}',
      '["hush",1]',
      '[{"secret":""}]',
      '[{"secret":"hush","notAfter":"soon"}]',
      '[""]',
      'null',
      '"hush"',
    ]) {
      assert.throws(
        () => parseBackups(text),
        (error: Error) => error.message.startsWith('BULLETPROOF_SIGNING_SECRET_BK: ') && !`${error.message}${error.cause}`.includes('hush'),
      )
    }
    assert.deepEqual(parseBackups(' '), [])
  })
})

describe('sealing', () => {
  const binding = { deviceId: 'dev_1', userId: '7' }

  it('opens what it sealed, and shows nothing of it', () => {
    const sealer = createSealer(['master'])
    const envelope = sealer.seal('hush', binding)
    assert.match(envelope, /^zs1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/)
    assert.deepEqual(sealer.unseal(envelope, binding), { secret: 'hush', stale: false })
    assert.notEqual(sealer.seal('hush', binding), envelope)
  })

  it('does not open for another device or owner, under another key, or after a change', () => {
    const sealer = createSealer(['master'])
    const envelope = sealer.seal('hush', binding)
    assert.equal(sealer.unseal(envelope, { ...binding, deviceId: 'dev_2' }), undefined)
    assert.equal(sealer.unseal(envelope, { ...binding, userId: '8' }), undefined)
    assert.equal(createSealer(['other']).unseal(envelope, binding), undefined)
    const parts = envelope.split('.')
    for (const [index, part] of parts.entries()) {
      const changed = parts.with(index, `${part[0] === 'A' ? 'B' : 'A'}${part.slice(1)}`).join('.')
      assert.equal(sealer.unseal(changed, binding), undefined, `part ${index}`)
    }
    const shortTag = [
      ...parts.slice(0, 4),
      Buffer.from(parts[4] as string, 'base64url')
        .subarray(0, 4)
        .toString('base64url'),
    ].join('.')
    for (const text of ['', 'hush', 'zs1', `${envelope}.x`, shortTag]) assert.equal(sealer.unseal(text, binding), undefined)
  })

  it('opens under an earlier master key and says that it should be sealed again', () => {
    const envelope = createSealer(['old']).seal('hush', binding)
    assert.deepEqual(createSealer(['new', 'old']).unseal(envelope, binding), { secret: 'hush', stale: true })
  })
})
