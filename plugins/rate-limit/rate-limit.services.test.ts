import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { type ForkedApp, forkApp } from '../../scripts/testing/forked-app.js'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { rateLimitContract } from './rate-limit.contract.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

rateLimitContract('Redis', async () => {
  const prefix = `test-${randomUUID()}`
  return { options: () => ({ plugins: [kv({ prefix })], env: { REDIS_URL: redisUrl } }), shared: true }
})

describe('rateLimit with a separate database', () => {
  const { env, create, drop } = mysqlDatabase('rate_limit')
  before(create)
  after(drop)
  rateLimitContract('MySQL or MariaDB', async () => ({ options: () => ({ plugins: [database(), kv()], env }), shared: true }))
})

describe('rateLimit in two processes', () => {
  it('lets exactly `limit` requests pass together, and the one that is left goes on counting when the other is killed', async () => {
    const env = { REDIS_URL: redisUrl, APP_NAME: `limited-${randomUUID()}` }
    const rootDir = await mkdtemp(join(tmpdir(), 'zin-rate-limit-'))
    const app = new URL('./testing/app-child.ts', import.meta.url)
    const apps = await Promise.all([forkApp({ env, rootDir, app }), forkApp({ env, rootDir, app })])
    const [one, two] = apps
    try {
      const half = await Promise.all(Array.from({ length: 10 }, (_, i) => (apps[i % 2] as ForkedApp).call('GET', '/open')))
      assert.deepEqual(
        half.map(({ status }) => status),
        Array.from({ length: 10 }, () => 200),
      )
      await two.kill()
      const rest = await Promise.all(Array.from({ length: 30 }, () => one.call('GET', '/open')))
      assert.equal(rest.filter(({ status }) => status === 200).length, 10)
    } finally {
      await one.stop()
      await rm(rootDir, { recursive: true, force: true })
    }
  })
})
