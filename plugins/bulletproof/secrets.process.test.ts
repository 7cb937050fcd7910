import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseEnvFile } from 'zin'
import { createHeaders, generateDeviceKey } from 'zin/signer'
import { withFolder } from './testing/zin.js'

const configuration = `
import { defineConfig } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { health } from 'zin/plugins/health'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login } from 'zin/plugins/login'
import { ops } from 'zin/plugins/ops'
export default defineConfig({
  app: { name: 'corner-shop', port: 0 },
  plugins: [
    database(), kv(), health(), jwt(), bulletproof(), ops(),
    login({ seed: { email: 'demo@example.com', role: 'admin', passwordSetting: 'DEMO_PASSWORD' } }),
  ],
})
`
const secret = (name: string): string => `canary-${name}-0123456789abcdefghijkl`
const list = (name: string): string => JSON.stringify([secret(name)])
const settings: Readonly<Record<string, string>> = {
  APP_KEY: secret('app'),
  APP_KEY_BK: list('app-backup'),
  AUTH_KEY: secret('auth'),
  JWT_SECRET: secret('jwt'),
  JWT_SECRET_BK: list('jwt-backup'),
  JWT_PRIVATE_KEY: secret('pem'),
  BULLETPROOF_SIGNING_SECRET: secret('signing'),
  BULLETPROOF_SIGNING_SECRET_BK: list('signing-backup'),
  DEMO_PASSWORD: secret('password'),
  DB_PASSWORD: secret('database'),
}
const env = Object.entries(settings)
  .map(([name, value]) => `${name}='${value}'\n`)
  .join('')

/** Asserts that a text contains no secret from the environment and none created during the test. */
function assertHidden(texts: Readonly<Record<string, string>>, made: readonly string[] = []): void {
  for (const [where, text] of Object.entries(texts))
    for (const hidden of ['canary', ...made]) assert.ok(hidden !== '' && !text.includes(hidden), `${where} shows ${hidden}`)
}

/** Starting processes is slow, and slower with many at once. */
async function severalAtOnce<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += 4) await Promise.all(all.slice(at, at + 4).map(run))
}

describe('no secret is revealed', () => {
  it('S39: in the help of the command line and of every command, with all of them in the environment', () =>
    withFolder(
      env,
      async ({ zin }) => {
        const more = {
          REDIS_URL: `redis://:${secret('redis')}@127.0.0.1:1`,
          RDB_PROXY_SECRET: secret('proxy'),
          EDGE_REMOTE_SECRET: secret('edge'),
        }
        const { code, out, err } = await zin(['--help'], more)
        const names = [...out.matchAll(/^ {2}([a-z]+(?::[a-z]+)?)(?: +[<[]\S+)? {2,}\S/gm)].map(([, name]) => name as string)
        const ours = ['jwt:dev', 'key:bulletproof', 'auth:attack', 'auth:explain']
        const users = ['user:add', 'user:list', 'user:password', 'user:disable', 'user:enable']
        for (const name of [...ours, ...users]) assert.ok(names.includes(name), `${name} is not among ${names.join(' ')}`)
        const texts: Record<string, string> = { 'zin --help': out + err }
        assert.equal(code, 0, err)
        await severalAtOnce([...names, 'bulletproof:key', 'key:signer'], async (name) => {
          const help = await zin([name, '--help'], more)
          assert.deepEqual([help.code, help.err], [0, ''], name)
          assert.match(help.out, /Usage:\n {2}\$ zin /)
          texts[`zin ${name} --help`] = help.out
        })
        assertHidden(texts)
      },
      configuration,
    ))

  it('S39: in the output of the app, its responses, and the output and errors of commands', () =>
    withFolder(
      env,
      async ({ folder, zin, start }) => {
        const texts: Record<string, string> = {}
        const made: string[] = []
        const note = async (what: string, response: Response): Promise<Response> => {
          texts[`${what} ${Object.keys(texts).length}`] = `${JSON.stringify([...response.headers])} ${await response.clone().text()}`
          return response
        }
        for (const format of ['json', 'text']) {
          const app = await start({ LOG_LEVEL: 'trace', LOG_FORMAT: format })
          const post = (path: string, body: string): Promise<Response> =>
            fetch(app.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
          const credentials = { email: 'demo@example.com', password: settings.DEMO_PASSWORD }
          const response = await post('/auth/login', JSON.stringify(credentials))
          assert.equal(response.status, 200, app.output())
          const session = (await response.json()) as { readonly jwt: string; readonly deviceId: string; readonly deviceSecret: string }
          made.push(session.jwt, session.deviceSecret, session.jwt.split('.')[2] as string)
          const wrong = { ...credentials, password: 'canary-wrong' }
          await note('a wrong password', await post('/auth/login', JSON.stringify(wrong)))
          await note('a malformed body', await post('/auth/login', `{"password":"canary-broken`))
          await note('a body of another shape', await post('/auth/login', JSON.stringify({ ...wrong, email: ['canary'] })))
          await note('a body that is too long', await post('/auth/login', JSON.stringify({ ...wrong, pad: 'canary'.repeat(9000) })))

          const send = async (what: string, method: string, path: string, more: Readonly<Record<string, string>> = {}): Promise<void> => {
            const { deviceId: keyId, deviceSecret } = session
            const own = await createHeaders({ method, url: app.url + path, keyId, secret: deviceSecret })
            made.push(own['x-sig-signature'] as string, own['x-sig-nonce'] as string)
            const headers = { ...own, authorization: `Bearer ${session.jwt}`, ...more }
            for (const _twice of [1, 2]) await note(what, await fetch(app.url + path, { method, headers }))
          }
          await send('a good request', 'GET', '/api/me')
          await send('a query', 'GET', '/api/me?token=canary-in-the-query')
          await send('another signature', 'GET', '/api/me', { 'x-sig-signature': 'canary'.repeat(8) })
          await send('another token', 'GET', '/api/me', { authorization: 'Bearer canary.canary.canary' })
          await send('another key', 'GET', '/api/me', { 'x-sig-key-id': 'canary', 'x-sig-device-id': 'canary' })
          await send('an unknown route', 'GET', '/api/none?token=canary')
          await send('a route of operators', 'GET', '/auth/devices', { cookie: 'session=canary', 'x-api-key': 'canary' })
          const { privateKey } = await generateDeviceKey()
          const message = { method: 'GET', url: `${app.url}/api/me`, keyId: session.deviceId, authorization: `Bearer ${session.jwt}` }
          const headers = await createHeaders({ profile: 'rfc9421', ...message, privateKey })
          await note('a message by another key', await fetch(message.url, { headers: { ...headers } }))
          await send('logout', 'POST', '/auth/logout')
          await app.end()
          assert.match(app.output(), /logged in/)
          assert.match(app.output(), /signed request refused/)
          texts[`the app's output as ${format}`] = app.output()
        }

        await writeFile(join(folder, 'request.txt'), 'GET /api/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer canary\r\n\r\n')
        const wrong = ['user:add demo@example.com --generate', 'jwt:dev --expires soon', 'auth:attack http://127.0.0.1:1', 'nonsense']
        const lines = ['config:check', 'user:list', 'auth:explain request.txt', ...wrong, 'key:bulletproof']
        await severalAtOnce(lines, async (line) => {
          const { out, err } = await zin(line.split(' '))
          assert.ok(out + err !== '', line)
          texts[`zin ${line}`] = out + err
        })
        made.push(parseEnvFile(await readFile(join(folder, '.env'), 'utf8'), '.env').BULLETPROOF_SIGNING_SECRET ?? '')
        const bad = {
          BULLETPROOF_SIGNING_SECRET_BK: 'canary[',
          JWT_SECRET_BK: '["canary",1]',
          APP_KEY_BK: '{"canary":1}',
          JWT_ALGORITHM: 'ES256',
        }
        await severalAtOnce(Object.entries(bad), async ([name, value]) => {
          const { code, out, err } = await zin(['start'], { [name]: value })
          assert.ok(code !== 0 && err !== '', name)
          texts[`zin start with a bad ${name}`] = out + err
        })
        // A secret that is refused.
        const short = await zin(['start'], { NODE_ENV: 'production', BULLETPROOF_SIGNING_SECRET: 'canary' })
        assert.match(short.err, /BULLETPROOF_SIGNING_SECRET has 6 bytes/)
        texts['zin start in production'] = short.out + short.err
        assertHidden(texts, made)
      },
      configuration,
    ))
})
