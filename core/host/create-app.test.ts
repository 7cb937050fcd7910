import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { memoryLogger } from '../log/memory-logger.js'
import { defineService } from '../services/ref.js'
import { createApp } from './create-app.js'
import type { ZinConfig } from './define-config.js'
import { definePlugin } from './plugin.js'

interface Greeter {
  greet(name: string): string
}
const greeterService = defineService<Greeter>('greeter')

/** Serves a greeting and records its lifecycle. */
function greeter(seen: string[]) {
  return definePlugin({
    name: 'greeter',
    version: '1.0.0',
    provides: [greeterService],
    settings: { GREETING: { type: 'string', default: 'Hello', summary: 'First word' } },
    setup(ctx) {
      const greet = (name: string): string => `${ctx.settings.GREETING} ${name}`
      ctx.provide(greeterService, { greet })
      ctx.route({ method: 'GET', path: '/hello/:name', summary: 'Greets', handler: ({ input }) => ({ text: greet(input.params.name) }) })
      ctx.onStart(() => void seen.push('started'))
      ctx.onStop(() => void seen.push('stopped'))
    },
  })()
}

const configOf = (seen: string[] = []): ZinConfig => ({ app: { port: 0 }, plugins: [greeter(seen)] })

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-create-app-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test('an app created from code serves requests until it is stopped, without a file and without signal handlers', async (t) => {
  const folder = await emptyFolder(t)
  const before = process.cwd()
  process.chdir(folder)
  t.after(() => process.chdir(before))
  const listeners = process.listenerCount('SIGTERM')
  const seen: string[] = []
  const app = createApp(configOf(seen), { env: { NODE_ENV: 'test', GREETING: 'Hi' }, log: memoryLogger() })
  assert.equal(app.url, undefined)
  assert.throws(() => app.service(greeterService), { code: 'ZIN_HOST_STATE' })
  const address = await app.start()
  const url = app.url ?? ''
  assert.equal(url, `http://127.0.0.1:${address?.port}`)
  assert.deepEqual(await (await fetch(`${url}/hello/you`)).json(), { text: 'Hi you' })
  assert.equal(app.service(greeterService).greet('me'), 'Hi me')
  assert.equal(process.listenerCount('SIGTERM'), listeners)
  await assert.rejects(app.start(), { code: 'ZIN_HOST_STATE' })
  assert.equal((await app.stop()).clean, true)
  assert.deepEqual([seen, app.url], [['started', 'stopped'], undefined])
  await assert.rejects(fetch(`${url}/hello/you`))
  assert.equal((await app.stop()).clean, true)
  await assert.rejects(app.start(), { code: 'ZIN_HOST_STATE', message: /cannot start again: it is stopped/ })
  assert.deepEqual(await readdir(folder), [])
})

test('a boot that fails undoes everything and names every cause', async () => {
  const seen: string[] = []
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { readonly port: number }
  const app = createApp({ ...configOf(seen), app: { port } }, { env: {}, log: memoryLogger(), signals: true })
  const listeners = process.listenerCount('SIGTERM')
  await assert.rejects(app.start(), { code: 'ZIN_BOOT_FAILED', message: /http: failed in listen: .* the port is in use/ })
  taken.close()
  await assert.rejects(app.start(), { code: 'ZIN_HOST_STATE' })
  assert.deepEqual(seen, ['started', 'stopped'])
  assert.equal(process.listenerCount('SIGTERM'), listeners)
  await app.stop()
  const wrong = createApp({ plugin: [] } as object, { env: {} })
  await assert.rejects(wrong.start(), {
    code: 'ZIN_CONFIG_INVALID',
    message: /createApp has an unknown key "plugin"; did you mean "plugins"/,
  })
  await wrong.stop()
})

test('with signals the app handles them while it runs, and with a folder it records its address there', async (t) => {
  const rootDir = await emptyFolder(t)
  const listeners = process.listenerCount('SIGTERM')
  const app = createApp(configOf(), { rootDir, env: {}, log: memoryLogger(), signals: true })
  await app.start()
  assert.equal(process.listenerCount('SIGTERM'), listeners + 1)
  assert.deepEqual(await readdir(join(rootDir, '.zin/data')), ['run.json'])
  await app.stop()
  assert.equal(process.listenerCount('SIGTERM'), listeners)
  assert.deepEqual(await readdir(join(rootDir, '.zin/data')), [])
})

test('an app that is stopped while it starts does not start', async () => {
  const app = createApp(configOf(), { env: {}, log: memoryLogger() })
  const starting = assert.rejects(app.start(), { code: 'ZIN_BOOT_STOPPED' })
  await app.stop()
  await starting
  assert.equal(app.url, undefined)
})
