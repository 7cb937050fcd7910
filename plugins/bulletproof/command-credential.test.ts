import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHeaders } from 'zin/signer'
import { commandCredential } from './command-credential.js'

const request = { method: 'POST', url: 'http://127.0.0.1:7777/api/x?q=%C3%A4', body: '{"to":"ä"}', contentType: 'application/json' }

describe('the credential of a command', () => {
  it('is a signature with the shared secret over host, path, query and body, with the key id zin-cli and the header prefix of the app', async () => {
    const { headers, onRefusal } = await commandCredential({ secret: 'k1', headerPrefix: 'x-my-' })(request)
    const [, created, nonce = ''] = /;created=(\d+);nonce="([^"]+)"/.exec(headers['signature-input'] ?? '') ?? []
    const timestamp = Number(created) * 1000
    const signed = { ...request, keyId: 'zin-cli', secret: 'k1', headerPrefix: 'x-my-', nonce, timestamp }
    assert.deepEqual(headers, await createHeaders({ profile: 'rfc9421', ...signed }))
    assert.equal(headers['x-my-device-id'], 'zin-cli')
    assert.match(onRefusal, /the signing secret here is that of the running app/)
  })

  it('has no headers without a secret, only a hint that names the empty settings', async () => {
    const { headers, onRefusal } = await commandCredential({ secret: '', headerPrefix: 'x-sig-' })(request)
    assert.deepEqual(headers, {})
    assert.match(onRefusal, /BULLETPROOF_SIGNING_SECRET, AUTH_KEY and APP_KEY are empty here/)
  })
})
