import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { quickStart } from '../../scripts/testing/runnable.js'

const config = `import { defineConfig, definePlugin, defineRoute } from 'zin'
import { database, kv } from 'zin/plugins'
const stops = definePlugin({ name: 'stops', version: '1.0.0', setup({ host, onStop, onReady }) {
  onReady(() => console.log('is ready'))
  onStop(() => console.log('stopped with ' + host.roles.size + ' roles'))
} })
export default defineConfig({
  plugins: [database(), kv(), stops()],
  routes: [defineRoute({ method: 'GET', path: '/hello', summary: 'Hello', handler: () => ({ hello: 'you' }) })],
})
`
let app: AppFolder
let child: ChildProcess | undefined
before(async () => {
  app = await appFolder({ 'zin.config.mjs': config })
})
after(async () => {
  child?.kill('SIGKILL')
  await app.remove()
})

test('zin repl starts the plugins without roles, knows app and services, awaits, and stops the plugins at the end', async () => {
  child = spawn(process.execPath, [...quickStart(), join(import.meta.dirname, '..', '..', 'dist', 'cli.js'), 'repl'], {
    cwd: app.folder,
    env: { PATH: process.env.PATH },
    stdio: 'pipe',
  })
  let out = ''
  child.stdout?.on('data', (chunk) => (out += chunk))
  child.stderr?.on('data', (chunk) => (out += chunk))
  child.stdin?.end(`await services.kv.set('greeting', 'hel' + 'lo there')
'got ' + (await services.kv.get('greeting'))
'status ' + (await app.inject({ method: 'GET', path: '/hello' })).status
Object.keys(services).join('+')
undefinedName
.clear
'still ' + typeof services.kv
`)
  const [code] = await once(child, 'close')
  assert.equal(code, 0, out)
  for (const shown of [
    "'got hello there'",
    "'status 200'",
    "'database+kv'",
    'undefinedName is not defined',
    "'still object'",
    'stopped with 0 roles',
  ])
    assert.ok(out.includes(shown), `${shown} in ${out}`)
  assert.ok(!out.includes('is ready'))
})
