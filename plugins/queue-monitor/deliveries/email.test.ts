import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryLogger } from 'zin/testing'
import { MailServer } from '../testing/mail-server.js'
import { sendEmail } from './email.js'

test('no password is sent to a mail server without TLS', async (t) => {
  const server = await MailServer.open()
  t.after(() => server.close())
  const smtp = { host: '127.0.0.1', port: server.port, from: 'zin@example.com' }
  const data = { queue: 'mails', rule: 'queueSize', status: 'raised', reason: 'too many' }
  const message = { id: 'm1', body: JSON.stringify({ timestamp: '2026-01-01T00:00:00Z', data }) } as never
  const send = (options: typeof smtp & { readonly user?: string; readonly password?: string }) =>
    sendEmail(options, 5_000, { monotonic: () => 0 }, memoryLogger())(message, { recipients: ['a@example.com'] } as never, undefined)
  const refused = await send({ ...smtp, user: 'ann', password: 'secret' })
  assert.deepEqual([refused.kind, server.mails.length], ['refused', 0], String(refused.error))
  assert.ok(!server.commands.some((command) => command.startsWith('AUTH')), server.commands.join(', '))
  assert.deepEqual([(await send(smtp)).kind, server.mails.length], ['accepted', 1])
})
