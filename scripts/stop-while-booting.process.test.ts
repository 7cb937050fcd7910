import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type AppFolder, appFolder } from './testing/app-folder.js'

const folders: AppFolder[] = []
after(async () => {
  for (const folder of folders) await folder.remove()
})

const config = `
import { defineConfig, definePlugin } from 'zin'

const stuck = definePlugin({
  name: 'stuck',
  version: '1.0.0',
  setup() {},
  async start() {
    process.kill(process.pid, 'SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 2 ** 30))
  },
  stop: () => console.log('stuck has stopped'),
})

export default defineConfig({ app: { port: 0 }, shutdown: { deadlineMs: 1_000 }, plugins: [stuck()] })
`

test('SIGTERM while a plugin hangs in its start stops the plugins and ends the process with 0', { timeout: 60_000 }, async () => {
  const app = await appFolder({ 'zin.config.ts': config })
  folders.push(app)
  const { code, out, err } = await app.zin(['start'])
  assert.match(out, /stopped while starting/)
  assert.match(out, /stuck has stopped/)
  assert.doesNotMatch(out, /listens on/)
  assert.deepEqual([code, err], [0, ''])
})
