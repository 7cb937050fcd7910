import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { database } from 'zin/plugins/database'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { freePort } from '../../../scripts/testing/free-port.js'
import { microservices, microservicesService } from '../index.js'
import { foundations } from '../testing/services-app.js'
import { databaseEnv } from './service-app.js'

const definition = {
  name: 'user-notes',
  domain: 'a',
  version: '1.0.0',
  description: '',
  source: 'discovered',
  dependencies: [],
  healthCheck: '/health',
  auth: 'none',
  tracing: { enabled: false, samplingRate: 1 },
  urls: [],
} as const
const app = { name: 'shop', environment: 'test', dataDir: '/data' }

describe('the database of a service', () => {
  it('is the database of the app, under the same app name, when shared', () => {
    const shared = databaseEnv({ ...definition, database: { isolation: 'shared', migrations: false } }, app, { DB_DATABASE: 'shop' })
    assert.deepEqual(
      [shared.appName, shared.env.APP_NAME, shared.env.ZIN_DATA_DIR, shared.env.DB_DATABASE],
      ['shop', 'shop', '/data', 'shop'],
    )
  })

  it('is a separate file and schema when isolated', () => {
    const own = databaseEnv({ ...definition, database: { isolation: 'isolated', migrations: false } }, app, {
      DB_DATABASE: 'shop',
      DB_CONNECTION: 'rdb',
    })
    assert.deepEqual(
      [own.appName, own.env.DB_DATABASE, own.env.ZIN_DATA_DIR],
      ['user-notes', 'shop_user_notes', join('/data', 'services', 'user-notes')],
    )
    assert.match(own.where, /shop_user_notes/)
  })

  const start = async (t: TestContext, config: object, env = {}) => {
    const later = cleanUp(t)
    const rootDir = await mkdtemp(join(tmpdir(), 'zin-isolation-'))
    later(() => rm(rootDir, { recursive: true, force: true }))
    const folder = join(rootDir, 'src/services/a/notes')
    await mkdir(folder, { recursive: true })
    const plugins = import.meta.resolve('zin/plugins/database')
    await writeFile(join(folder, 'service.config.json'), JSON.stringify({ name: 'notes', port: await freePort(), ...config }))
    await writeFile(
      join(folder, 'index.mjs'),
      `import { database } from ${JSON.stringify(plugins)}\nexport default { plugins: [database()] }\n`,
    )
    const host = await createTestHost({
      plugins: [database(), ...foundations(), microservices()],
      env: { NODE_ENV: 'test', PORT: '0', MICROSERVICES: 'true', ...env },
      rootDir,
    })
    later(() => host.stop())
    const [service] = host.service(microservicesService).list()
    assert.equal(service?.state, 'running', service?.instances[0]?.reason)
    return { host, service, dataDir: host.host.view.app.dataDir }
  }

  it('uses the same file as the app when shared', async (t) => {
    const { dataDir, host, service } = await start(t, {})
    assert.equal(service?.database.isolation, 'shared')
    assert.ok(existsSync(join(dataDir, 'app.db')) && !existsSync(join(dataDir, 'services')))
    assert.ok(!host.logText().includes('has migrations'))
  })

  it('is chosen by the configuration or DATABASE_ISOLATION, and the log shows where migrations run', async (t) => {
    const { dataDir, host } = await start(t, { database: { isolation: 'isolated', migrations: true } })
    assert.ok(existsSync(join(dataDir, 'services', 'notes', 'app.db')))
    assert.match(host.logText(), /service \\"notes\\" has migrations.*its own database \(isolated\)/)
    const second = await start(t, {}, { DATABASE_ISOLATION: 'isolated' })
    assert.ok(existsSync(join(second.dataDir, 'services', 'notes', 'app.db')))
  })
})
