import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isSameSecret } from './key.js'
import { createSealer } from './seal.js'
import { parseBackups, parseSecrets } from './secret-list.js'

describe('a list of secrets', () => {
  it('must not have an expiry that is not checked', () => {
    assert.deepEqual(parseSecrets('["a","b"]', 'OLD_KEYS'), ['a', 'b'])
    assert.throws(() => parseSecrets('["a",{"secret":"hush","notAfter":1}]', 'OLD_KEYS'), {
      code: 'SIGNING_SECRET_BACKUPS_INVALID',
      message: /^OLD_KEYS: entry 1 has a "notAfter"/,
    })
  })

  it('refuses malformed backups without quoting their content', () => {
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
        () => parseBackups(text, 'OLD_SECRETS'),
        (error: Error) => error.message.startsWith('OLD_SECRETS: ') && !`${error.message}${error.cause}`.includes('hush'),
      )
    }
    assert.deepEqual(parseBackups(' ', 'OLD_SECRETS'), [])
  })
})

describe('sealing', () => {
  const binding = { deviceId: 'dev_1', userId: '7' }

  it('opens what it sealed, and the envelope reveals nothing', () => {
    const sealer = createSealer(['master'])
    const envelope = sealer.seal('hush', binding)
    assert.match(envelope, /^zs1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/)
    assert.deepEqual(sealer.unseal(envelope, binding), { secret: 'hush', stale: false })
    assert.notEqual(sealer.seal('hush', binding), envelope)
  })

  it('does not open for another device or owner, with another key, or after a change', () => {
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

  it('opens with an earlier master key and reports that it should be sealed again', () => {
    const envelope = createSealer(['old']).seal('hush', binding)
    assert.deepEqual(createSealer(['new', 'old']).unseal(envelope, binding), { secret: 'hush', stale: true })
  })
})

it('secrets are the same if they are the same text, whatever their lengths', () => {
  for (const secret of ['', 'a', 'ü🎈', 'x'.repeat(1000)]) {
    assert.ok(isSameSecret(secret, secret))
    for (const other of [`${secret} `, `${secret}a`, `A${secret}`]) assert.ok(!isSameSecret(other, secret))
  }
})
