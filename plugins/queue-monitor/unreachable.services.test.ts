import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import { eventually } from '../../scripts/testing/eventually.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { keys, monitoredApp } from './testing/app.js'

/** The code of the response once the last snapshot is too old. */
async function codeOfStats(app: Awaited<ReturnType<typeof monitoredApp>>): Promise<string> {
  let code = ''
  await eventually('the statistics are refused', async () => {
    const { body, status } = await app.call('GET', '/api/queue/stats', { key: keys.readAll })
    code = body.code
    return status === 503
  })
  return code
}

async function appOn(t: TestContext, env: Readonly<Record<string, string>>) {
  const app = await monitoredApp(env)
  t.after(() => app.host.stop())
  await app.queues.add('mails-b', 'idle', {})
  assert.equal((await app.call('GET', '/api/queue/stats', { key: keys.readAll })).status, 200)
  return app
}

it('statistics report that the queue store cannot be reached', async (t) => {
  const redis = await redisServer()
  t.after(() => redis.stop())
  const app = await appOn(t, { REDIS_URL: redis.url })
  await redis.kill()
  assert.equal(await codeOfStats(app), 'QUEUE_CONNECTION_ERROR')
})

it('statistics report that metrics cannot be read or stored while the queue store responds', async (t) => {
  const app = await appOn(t, { DB_ACQUIRE_TIMEOUT_MS: '100', DB_STATEMENT_TIMEOUT_MS: '100' })
  const code = await app.host.service(databaseService).transaction(() => codeOfStats(app))
  assert.equal(code, 'METRIC_COLLECTION_ERROR')
})
