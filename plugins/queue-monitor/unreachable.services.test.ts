import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import { eventually } from '../../scripts/testing/eventually.js'
import { connectRedis } from '../../scripts/testing/redis-client.js'
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

it('a queue with an overwritten key is shown as broken, and hides no other', async (t) => {
  const redis = await redisServer()
  t.after(() => redis.stop())
  const app = await appOn(t, { REDIS_URL: redis.url })
  const { id = '' } = await app.queues.add('mails-b', 'job', {}, { jobId: 'letter' })
  await app.queues.add('mails-c', 'job', {}, { jobId: 'lost' })
  const client = await connectRedis(redis.url, { name: 'vandal', keyPrefix: '' })
  t.after(() => client.disconnect())
  for (const key of await client.keys('*:mails-c:*')) if (/:(wait|active|completed)$/.test(key)) await client.del(key)
  const key = (await client.keys('*:mails-c:meta'))[0]?.replace(/meta$/, 'wait') ?? ''
  await client.hset(key, 'name', 'a job whose id was "wait"')

  const get = (path: string) => app.call('GET', path, { key: keys.readAll })
  await eventually('the statistics show it', async () => (await get('/api/queue/stats')).body.queues['mails-c']?.broken === true)
  const { body, status } = await get('/api/queue/stats')
  assert.deepEqual([status, body.queues['mails-b'].broken, body.queues['mails-b'].waiting], [200, undefined, 2])
  assert.match(body.queues['mails-c'].reason, /WRONGTYPE/)
  assert.equal((await get('/api/queue/mails-b/stats')).status, 200)
  for (const path of [
    '/api/queue/mails-c/stats',
    '/api/jobs/waiting?queue=mails-c',
    '/api/jobs?q=x&queue=mails-c',
    '/api/jobs/lost?queue=mails-c',
    '/api/jobs/nowhere',
  ]) {
    const broken = await get(path)
    assert.deepEqual([broken.status, broken.body.code], [503, 'QUEUE_BROKEN'], path)
  }
  assert.equal((await get(`/api/jobs/${id}`)).body.queue, 'mails-b')
  assert.deepEqual((await get('/api/jobs/waiting')).body.jobs.length, 2)
  const { searched } = (await get('/api/jobs?q=letter')).body
  assert.deepEqual([searched.complete, searched.queues], [false, 2])
})

it('an id that means something else to the store is refused, and finds no job', async (t) => {
  const redis = await redisServer()
  t.after(() => redis.stop())
  const app = await appOn(t, { REDIS_URL: redis.url })
  for (const jobId of ['wait', 'meta', '.', '..', 'a:b', '12', 'x'.repeat(201)]) {
    await assert.rejects(app.queues.add('mails-b', 'job', {}, { jobId }), { code: 'QUEUE_INVALID_JOB', status: 400 }, jobId)
  }
  for (const id of ['wait', 'meta', 'id']) {
    for (const method of ['GET', 'DELETE']) {
      const { status } = await app.call(method, `/api/jobs/${id}?queue=mails-b`, { key: keys.readAll })
      assert.ok([400, 403, 404].includes(status), `${method} ${id}: ${status}`)
    }
  }
  assert.equal((await app.call('GET', '/api/queue/mails-b/stats', { key: keys.readAll })).body.waiting, 1)
})
