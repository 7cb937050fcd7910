import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../../scripts/testing/app-folder.js'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { eventually } from '../../../scripts/testing/eventually.js'
import { freePort } from '../../../scripts/testing/free-port.js'
import { isAlive } from '../../../scripts/testing/is-alive.js'

const config = `import { defineConfig } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { decisions } from 'zin/plugins/decisions'
import { microservices } from 'zin/plugins/microservices'
import { ops } from 'zin/plugins/ops'
const startTimeoutMs = Number(process.env.START_TIMEOUT_MS)
export default defineConfig({ plugins: [cluster(), ops(), decisions(), microservices({ processes: 'own', autoStart: false, restarts: 0, startTimeoutMs })] })
`

const hangingModule = `import { writeFileSync } from 'node:fs'
writeFileSync('pid', String(process.pid))
setInterval(() => undefined, 1000)
await new Promise(() => undefined)
`

const files = {
  'zin.config.mjs': config,
  'src/services/shop/orders/service.config.json': '{"name":"orders"}',
  'src/services/shop/orders/index.mjs': hangingModule,
}

// Both wait, so they run at the same time.
describe('a child process whose start hangs', { concurrency: true }, () => {
  it('is killed after startTimeoutMs', async (t) => {
    const later = cleanUp(t)
    const app = await appFolder(files)
    later(() => app.remove())
    const running = await app.start(await environment(5000))
    const response = await startOrders(running.url)
    assert.equal(response.status, 502)
    assert.match(await response.text(), /was not ready within 5000 ms/)
    const pid = pidOf(app)
    assert.ok(pid > 0)
    await eventually('the child is gone', () => !isAlive(pid))
  })

  it('exits after the app is killed', async (t) => {
    const later = cleanUp(t)
    const app = await appFolder(files)
    later(() => app.remove())
    const running = await app.start(await environment(600_000))
    startOrders(running.url).catch(() => undefined)
    await eventually('the child runs', () => pidOf(app) > 0)
    await running.kill()
    await eventually('the child is gone', () => !isAlive(pidOf(app)))
  })
})

function startOrders(url: string): Promise<Response> {
  return fetch(`${url}/api/services/orders/start`, { method: 'POST' })
}

async function environment(startTimeoutMs: number): Promise<Record<string, string>> {
  return { MICROSERVICES: 'true', NODE_ENV: 'development', PORT: String(await freePort()), START_TIMEOUT_MS: String(startTimeoutMs) }
}

/** 0 until the child has started. */
function pidOf({ folder }: AppFolder): number {
  const file = join(folder, 'pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
}
