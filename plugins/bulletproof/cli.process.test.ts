import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { parseEnvFile } from 'zin'
import { createHeaders } from 'zin/signer'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'
import { runnable } from '../../scripts/testing/runnable.js'
import { config, withFolder } from './testing/zin.js'

const appKey = 'app-key-canary-0123456789abcdefghijk'
const secret = 'signing-canary-0123456789abcdefghijk'
const env = `# kept\nAPP_KEY=${appKey}\nBULLETPROOF_SIGNING_SECRET=${secret}\n`

/** Calls GET /api/me as a caller with the shared secret. */
async function status(url: string, token: string, signingSecret: string): Promise<number> {
  const headers = await createHeaders({ method: 'GET', url: `${url}/api/me`, keyId: 'zin-cli', secret: signingSecret })
  return (await fetch(`${url}/api/me`, { headers: { ...headers, authorization: `Bearer ${token}` } })).status
}

async function valuesOf(folder: string): Promise<Readonly<Record<string, string | undefined>>> {
  return parseEnvFile(await readFile(join(folder, '.env'), 'utf8'), '.env')
}

let app: AppFolder
let running: RunningApp
before(async () => {
  app = await appFolder({ 'zin.config.mjs': config, '.env': env })
  running = await app.start()
})
after(() => app.remove())

describe('zin key:bulletproof', () => {
  it('S20: changes the secret of a running app, also by its aliases; requests signed with an earlier one still pass', () =>
    withFolder(env, async ({ folder, zin, start }) => {
      const app = await start()
      const { out: token } = await zin(['jwt:dev', '--sub', '007', '--device-id', 'zin-cli'])
      assert.equal(await status(app.url, token.trim(), secret), 200)
      const secrets = [secret]
      for (const name of ['key:bulletproof', 'bulletproof:key', 'key:signer']) {
        const inForce = app.said(new RegExp(`(loaded the signing secrets[\\s\\S]*){${secrets.length}}`))
        const { code, out, err } = await zin([name, '--max-backups', '2'])
        assert.deepEqual([code, err], [0, ''])
        const { BULLETPROOF_SIGNING_SECRET: next = '' } = await valuesOf(folder)
        for (const hidden of [next, secret, appKey]) assert.ok(!out.includes(hidden))
        secrets.unshift(next)
        await inForce
        assert.equal(await status(app.url, token.trim(), next), 200)
      }
      const statuses = []
      for (const one of secrets) statuses.push(await status(app.url, token.trim(), one))
      assert.deepEqual(statuses, [200, 200, 200, 200])
      const [first, second, { secret: third = '', notAfter = 0 } = {}] = JSON.parse(
        (await valuesOf(folder)).BULLETPROOF_SIGNING_SECRET_BK ?? '',
      )
      assert.deepEqual([first, second, third, notAfter > Date.now()], [...secrets.slice(1), true])
      const rest = (await readFile(join(folder, '.env'), 'utf8')).split('\n').filter((line) => !line.includes('BULLETPROOF'))
      assert.deepEqual(rest, ['# kept', `APP_KEY=${appKey}`, ''])
      await app.end()
    }))

  it('leaves a secret from the environment in force and reports it; an invalid file changes nothing', () =>
    withFolder(env, async ({ folder, zin, start }) => {
      const own = { BULLETPROOF_SIGNING_SECRET: 'from-the-environment-0123456789abc' }
      const [overridden, other] = [await start(own), await start()]
      const { out: token } = await zin(['jwt:dev', '--device-id', 'zin-cli'])
      const broken = other.said(/stay unchanged.*BULLETPROOF_SIGNING_SECRET_BK/)
      await writeFile(join(folder, '.env'), `${env}BULLETPROOF_SIGNING_SECRET_BK=hush\n`)
      await broken
      assert.equal(await status(other.url, token.trim(), secret), 200)
      await writeFile(join(folder, '.env'), env)
      const inForce = other.said(/loaded the signing secrets/)
      const { err } = await zin(['key:bulletproof'], own)
      assert.match(err, /BULLETPROOF_SIGNING_SECRET is also set in the environment, which overrides \.env and stays in force/)
      await inForce
      const { BULLETPROOF_SIGNING_SECRET: next = '' } = await valuesOf(folder)
      assert.equal(await status(other.url, token.trim(), next), 200)
      assert.equal(await status(overridden.url, token.trim(), own.BULLETPROOF_SIGNING_SECRET), 200)
      assert.equal(await status(overridden.url, token.trim(), next), 401)
      await Promise.all([overridden.end(), other.end()])
    }))

  it('S20: leaves a valid file when it is killed at any time', () =>
    withFolder(env, async ({ folder }) => {
      const file = join(folder, '.env')
      const module = runnable(new URL('../../core/config/update-env-file.ts', import.meta.url))
      const program = `import { updateEnvFile } from ${JSON.stringify(pathToFileURL(module.file).href)}
        process.stdout.write('.')
        for (let n = 0; ; n++) await updateEnvFile(${JSON.stringify(file)}, () => ({ BULLETPROOF_SIGNING_SECRET: 'n'.repeat(40), BULLETPROOF_SIGNING_SECRET_BK: '["' + n + '"]' }))`
      for (const wait of [0, 3, 7, 13, 29]) {
        const child = spawn(process.execPath, [...module.execArgv, '--input-type=module', '-e', program], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const exited = once(child, 'exit')
        await once(child.stdout, 'data')
        setTimeout(() => child.kill('SIGKILL'), wait)
        await exited
        const text = await readFile(file, 'utf8')
        assert.ok(text.startsWith(`# kept\nAPP_KEY=${appKey}\nBULLETPROOF_SIGNING_SECRET=`), text)
        const values = parseEnvFile(text, file)
        assert.ok([secret, 'n'.repeat(40)].includes(values.BULLETPROOF_SIGNING_SECRET ?? ''))
        assert.equal(values.BULLETPROOF_SIGNING_SECRET === secret, values.BULLETPROOF_SIGNING_SECRET_BK === undefined)
        await rm(`${file}.new`, { force: true })
      }
    }))
})

describe('zin auth:attack', () => {
  it('finds no hole with a login, two users, or the secrets in .env; exits with 2 and the reason when it cannot run', async () => {
    const password = { PASSWORD: 'letmein-0123' }
    const users = [
      '--email',
      'ada@example.com',
      '--password-env',
      'PASSWORD',
      '--other-email',
      'bob@example.com',
      '--other-password-env',
      'PASSWORD',
    ]
    const two = await app.zin(['auth:attack', running.url, ...users, '--json'], password)
    assert.equal(two.code, 0, two.out + two.err)
    const report = JSON.parse(two.out) as { holes: number; unclear: number; findings: { attack: string; verdict: string }[] }
    assert.deepEqual([two.code, report.holes, report.unclear], [0, 0, 0], two.out + two.err)
    const skipped = report.findings.filter(({ verdict }) => verdict === 'skipped').map(({ attack }) => attack)
    assert.deepEqual(skipped, ['replay:after-window', 'header:early-data'])
    const own = await app.zin(['auth:attack', running.url])
    assert.equal(own.code, 0, own.out + own.err)
    assert.match(own.out, /replay:race +safe +200, 401 ×49|replay:race +safe +401.*200/)
    assert.match(own.out, /GET http:\S+\/api\/me: \d+ attacks, \d+ safe, 0 holes, 0 unclear, \d+ skipped\n$/)
    for (const { out, err } of [two, own])
      for (const hidden of [secret, appKey, 'letmein-0123']) assert.ok(!`${out}${err}`.includes(hidden))
    const wrong = await app.zin(['auth:attack', running.url, '--email', 'ada@example.com', '--password-env', 'PASSWORD'], {
      PASSWORD: 'wrong',
    })
    assert.deepEqual([wrong.code, wrong.out], [2, ''])
    assert.match(wrong.err, /POST \/auth\/login returned 401 /)
    const keyed = ['--key-id', 'nobody', '--secret-env', 'S', '--token-env', 'T']
    const refused = await app.zin(['auth:attack', running.url, ...keyed], { S: 's', T: 't' })
    assert.deepEqual([refused.code, refused.out], [2, ''])
    assert.match(refused.err, /the valid request GET \/api\/me got 401/)
    assert.equal((await app.zin(['auth:attack', 'ftp://x'])).code, 2)
  })
})

describe('zin auth:explain', () => {
  it('explains a request of a device that a running app knows', async () => {
    const response = await fetch(`${running.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'letmein-0123' }),
    })
    const { jwt, deviceId, deviceSecret } = (await response.json()) as { jwt: string; deviceId: string; deviceSecret: string }
    const url = `${running.url}/api/me`
    const headers = {
      ...(await createHeaders({ method: 'GET', url, keyId: deviceId, secret: deviceSecret })),
      authorization: `Bearer ${jwt}`,
    }
    await writeFile(join(app.folder, 'request.json'), JSON.stringify({ method: 'GET', url, headers }))
    const good = await app.zin(['auth:explain', 'request.json'])
    assert.equal(good.code, 0, good.out + good.err)
    assert.match(good.out, /Every layer passes\n$/)
    await writeFile(join(app.folder, 'request.json'), JSON.stringify({ method: 'GET', url: `${url}?a=1`, headers }))
    const bad = await app.zin(['auth:explain', 'request.json', '--json'])
    assert.deepEqual([bad.code, (JSON.parse(bad.out) as { firstFailed: { layer: number } }).firstFailed.layer], [1, 6])
    for (const text of [good.out, bad.out]) for (const hidden of [jwt, deviceSecret, appKey]) assert.ok(!text.includes(hidden))
  })
})
