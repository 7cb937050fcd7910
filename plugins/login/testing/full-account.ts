import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { definePlugin, type Plugin } from 'zin'
import { databaseService } from 'zin/plugins/database'
import type { TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { addUser, post, signedWith } from '../../../scripts/testing/login-session.js'

const tables = ['zin_users', 'zin_refresh_tokens', 'zin_totp', 'zin_recovery_codes', 'zin_one_time_tokens', 'zin_verified_emails'] as const

/** Collects the tokens that are mailed. */
export function mailer(mails: string[]): Plugin {
  return definePlugin({
    name: 'mailer',
    version: '1.0.0',
    setup: ({ hooks }) => {
      hooks.on('sendPasswordReset', ({ token }) => void mails.push(token))
      hooks.on('sendEmailVerification', ({ token }) => void mails.push(token))
    },
  })()
}

/** An account with everything that it can have. */
export async function fullAccount(host: TestHost, mails: string[]) {
  const email = `${randomUUID()}@example.com`
  const { id, password } = await addUser(host, email)
  const { body: session, headers } = await post(host, { email, password })
  const send = (path: string, body?: object) => signedWith(host, session, { method: 'POST', path, now: Date.now(), ...(body && { body }) })
  const enrolled = await send('/auth/totp')
  assert.equal(enrolled.status, 200, enrolled.text)
  const { secret } = enrolled.body
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  const confirmed = await send('/auth/totp/confirm', { code })
  assert.equal(confirmed.status, 200, confirmed.text)
  mails.length = 0
  for (const path of ['/auth/email/request', '/auth/password/forgot']) await host.inject({ method: 'POST', path, body: { email } })
  await eventually('both mails are sent', () => mails.length === 2)
  const cookie = [headers['set-cookie'] ?? []]
    .flat()
    .map((one) => String(one).split(';')[0])
    .join('; ')
  const secrets = [password, secret, session.refreshToken, session.deviceSecret, ...mails, ...confirmed.body.recoveryCodes]
  return { email, id, password, session, cookie, secrets: secrets as readonly string[] }
}

export type FullAccount = Awaited<ReturnType<typeof fullAccount>>

/** Which tables of login have the id or the address. */
export async function tablesWith(host: TestHost, { email, id }: Pick<FullAccount, 'email' | 'id'>): Promise<readonly string[]> {
  const db = host.service(databaseService).tables<Record<string, object>>()
  const there = new Set((await db.introspection.getTables()).map(({ name }) => name))
  const found: string[] = []
  for (const table of tables.filter((name) => there.has(name))) {
    const text = JSON.stringify(await db.selectFrom(table).selectAll().execute())
    if (text.includes(email) || text.includes(id)) found.push(table)
  }
  return found
}

/** Erases a subject by the API. */
export async function erasing(host: TestHost, subject: string) {
  const path = `/api/compliance/subjects/${encodeURIComponent(subject)}`
  return host.inject({ method: 'DELETE', path, headers: { 'x-requested-with': 'test' } })
}

export async function erasedBy(host: TestHost, subject: string) {
  const { body, status, text } = await erasing(host, subject)
  assert.equal(status, 200, text)
  return body.erasure
}
