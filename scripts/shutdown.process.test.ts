import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type AppFolder, appFolder } from './testing/app-folder.js'

let app: AppFolder
before(async () => {
  app = await appFolder({ 'zin.config.ts': '' })
})
after(() => app.remove())

const forever = 'await new Promise((resolve) => setTimeout(resolve, 2 ** 30))'
const leave = "process.kill(process.pid, 'SIGTERM')"

/** Runs an app with one plugin, which sends SIGTERM to its own process at some point, until it exits. */
async function run(plugin: string, rest = '', top = '') {
  const config = `
import { defineConfig, definePlugin } from 'zin'
${top}
const stuck = definePlugin({ name: 'stuck', version: '1.0.0', setup() {}, ${plugin} })
export default defineConfig({ app: { port: 0 }, shutdown: { deadlineMs: 1_000 }, plugins: [stuck()], ${rest} })
`
  await writeFile(join(app.folder, 'zin.config.ts'), config)
  return app.zin(['start'])
}

test('SIGTERM while a plugin hangs in its start stops the plugins and exits with 0', { timeout: 120_000 }, async () => {
  const { code, out, err } = await run(`async start() { ${leave}; ${forever} }, stop: () => console.log('stuck has stopped')`)
  assert.match(out, /stopped while starting/)
  assert.match(out, /stuck has stopped/)
  assert.doesNotMatch(out, /listens on/)
  assert.deepEqual([code, err], [0, ''])
})

test('SIGTERM while the configuration is loading ends the process, even where signals have no default action', {
  timeout: 120_000,
}, async () => {
  const { code, out, err } = await run('', '', `${leave}\n${forever}`)
  assert.deepEqual([code, out, err], [143, '', ''])
})

test('a plugin whose stop hangs is reported once, and the process exits with 1 whatever it left open', { timeout: 120_000 }, async () => {
  const { code, out, err } = await run(`async stop() { ${forever} }`, `hooks: { onReady: () => { ${leave} } }`)
  assert.equal(out.split('stuck: hung after').length, 2, out)
  assert.deepEqual([code, err], [1, ''])
})
