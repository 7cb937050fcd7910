import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHeaders } from 'zin/signer'
import { addUser, loginHost, post, run, type Session, signed } from '../../scripts/testing/login-session.js'

const secrets = {
  APP_KEY: 'canary-app-key-0123456789abcdefghij',
  JWT_SECRET: 'canary-jwt-secret-0123456789abcdefg',
  BULLETPROOF_SIGNING_SECRET: 'canary-shared-0123456789abcdefghijk',
  BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(['canary-backup-0123456789abcdefghijk']),
  APP_KEY_BK: JSON.stringify(['canary-app-backup-0123456789abcdefg']),
}

describe('S39: the whole flow of a session', () => {
  it('reveals no secret in a log line, a response, an error or the help of a command', async () => {
    const host = await loginHost({}, { env: { ...secrets, LOG_LEVEL: 'trace' } })
    const hidden: string[] = [...Object.values(secrets), 'canary']
    const answers: string[] = []
    const note = <A extends { readonly text: string; readonly headers: object }>(answer: A): A => {
      answers.push(answer.text, JSON.stringify(answer.headers))
      return answer
    }
    try {
      const { password } = await addUser(host, 'ada@example.com', 'admin')
      const wrong = 'canary wrong password'
      note(await post(host, { email: 'ada@example.com', password: wrong }))
      note(await post(host, { email: 'nobody@example.com', password: wrong }))
      note(
        await host.inject({
          method: 'POST',
          path: '/auth/login',
          body: `{"password":"${wrong}"`,
          headers: { 'content-type': 'application/json' },
        }),
      )
      note(await post(host, { email: ['ada@example.com'], password: { $ne: wrong } }))
      const logIn = async (): Promise<Session> => (await post(host, { email: 'ada@example.com', password })).body
      const sessions = [await logIn(), await logIn()] as const
      const [session, other] = sessions
      for (const each of sessions) hidden.push(each.jwt, each.deviceSecret, each.jwt.split('.')[2] ?? '')
      hidden.push(password)

      note(await signed(host, session, 'GET', '/api/me'))
      note(await signed(host, { ...session, deviceSecret: other.deviceSecret }, 'GET', '/api/me'))
      note(await signed(host, session, 'GET', `/api/me?token=${'x'.repeat(20)}`))
      const headers: Record<string, string> = {
        ...(await createHeaders({ method: 'GET', url: '/api/me', keyId: session.deviceId, secret: session.deviceSecret })),
        authorization: `Bearer ${session.jwt}`,
      }
      hidden.push(headers['x-sig-signature'] ?? '', headers['x-sig-nonce'] ?? '')
      for (const _copy of [1, 2]) note(await host.inject({ path: '/api/me', headers }))
      note(await host.inject({ path: '/api/me', headers: { ...headers, authorization: `Bearer ${session.jwt}x` } }))
      note(await signed(host, session, 'GET', '/auth/devices'))
      note(await signed(host, session, 'DELETE', `/auth/devices/${other.deviceId}`))
      note(await signed(host, session, 'POST', '/auth/logout'))
      note(await signed(host, session, 'POST', '/auth/logout'))
      const listed = await run(host, 'user:list', {})
      const texts = {
        log: host.logText(),
        answers: answers.join('\n'),
        help: JSON.stringify(host.host.commands()),
        listing: JSON.stringify(listed),
        settings: JSON.stringify(host.host.view.plugins()),
      }
      assert.ok(texts.log.includes('logged in') && texts.log.includes('signed request refused'))
      for (const [where, text] of Object.entries(texts))
        for (const secret of hidden) assert.ok(secret === '' || !text.includes(secret), `${where} shows ${secret}`)
    } finally {
      await host.stop()
    }
  })
})
