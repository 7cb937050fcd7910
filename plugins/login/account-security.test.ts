import assert from 'node:assert/strict'
import { it } from 'node:test'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { companions, env } from '../../scripts/testing/login-session.js'
import { login } from './index.js'
import { describeErasure } from './testing/erasure.contract.js'
import { describeLeftBehind } from './testing/left-behind.contract.js'
import { describeMails } from './testing/mails.contract.js'
import { describeTotp } from './testing/totp.contract.js'

describeTotp('the embedded database', () => ({ plugins: () => [database(), kv()] }))
describeErasure('the embedded database', () => ({ plugins: () => [database(), kv()] }))
describeLeftBehind('the embedded database', () => ({ plugins: () => [database(), kv()] }))
describeMails('the embedded database', () => ({ plugins: () => [database(), kv()] }))

it('options without what they need stop the boot', async () => {
  const own = { verifyCredentials: async () => undefined }
  for (const [plugins, message] of [
    [[jwt(), bulletproof(), login({ ...own, totp: true })], /"totp" needs the plugin database/],
    [[...companions(), login({ ...own, passwordReset: true })], /are for the built-in users/],
    [[...companions(), login({ ...own, emailVerification: 'optional' })], /are for the built-in users/],
  ] as const)
    await assert.rejects(createTestHost({ plugins: [...plugins], env }), { message })
  await assert.rejects(createTestHost({ plugins: [...companions(), login({ ...own, totp: true })], env: { JWT_SECRET: 's'.repeat(32) } }), {
    message: /needs APP_KEY/,
  })
})
