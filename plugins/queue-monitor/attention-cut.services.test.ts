import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { forkApp } from '../../scripts/testing/forked-app.js'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { mysqlServer } from '../../scripts/testing/mysql-server.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import type { AttentionList } from './attention/item.js'
import { attentionCutContract } from './attention-kinds.contract.js'
import { queueMonitor } from './index.js'

attentionCutContract('Redis and MariaDB', true, async (atEnd) => {
  const mysql = await mysqlServer()
  atEnd(() => mysql.stop())
  const redis = await redisServer()
  atEnd(() => redis.stop())
  return {
    env: { REDIS_URL: redis.url, ...mysql.env },
    cut: async (lab) => {
      await redis.kill()
      mysql.hang()
      // The clocks are compared once a minute, or when the own one was set.
      lab.setClock(5_000)
      return async () => {
        mysql.resume()
        await redis.start()
        lab.setClock(10_000)
      }
    },
    left: new Set(['memory']),
  }
})

it('a worker whose only process was stopped needs attention until a process runs it; with the stores cut off, nothing is well', async (t) => {
  const atEnd = cleanUp(t)
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-attention-'))
  atEnd(() => rm(rootDir, { recursive: true, force: true }))
  // A database belongs to one app.
  const tables = mysqlDatabase('attention')
  await tables.create()
  atEnd(() => tables.drop())
  const redis = await redisServer()
  atEnd(() => redis.stop())
  await writeProcessors(rootDir, { 'one.mjs': 'export default () => 1' })
  const env = {
    ...tables.env,
    REDIS_URL: redis.url,
    APP_NAME: `attention-${randomUUID().slice(0, 8)}`,
    WORKER_AUTO_START: 'true',
    WORKER_PERSISTENCE_DRIVER: 'db',
    CLUSTER_HEARTBEAT_MS: '500',
  }
  let ahead = 0
  const host = await createTestHost({
    rootDir,
    env,
    clock: { now: () => Date.now() + ahead, monotonic: () => performance.now() },
    roles: ['http'],
    plugins: [database(), kv(), cluster(), queues(), ops(), workers(), queueMonitor({ monitor: { interval: 1000 } })],
  })
  atEnd(() => host.stop())
  const list = async (): Promise<AttentionList> => {
    const { body, status } = await host.inject({ method: 'GET', path: '/api/attention' })
    assert.equal(status, 200)
    return body as unknown as AttentionList
  }
  const unattended = async () => (await list()).items.find(({ kind }) => kind === 'no-live-node')
  const app = new URL('../workers/testing/app-child.ts', import.meta.url)
  const service = host.service(workersService)
  const first = await forkApp({ app, env, rootDir, roles: 'worker,http' })
  atEnd(() => first.kill())
  await service.create({ name: 'one', queueName: 'one', processor: 'one.mjs' })
  await service.start('one')
  assert.equal((await service.status('one')).state, 'running')
  await first.stop()
  await host.service(queuesService).addBulk(
    'one',
    Array.from({ length: 300 }, () => ({ name: 'x' })),
  )
  // It is listed once it has lasted, after a check has seen it; the first one may have begun before.
  const seen = new Set<string>()
  await eventually('it is checked', async () => seen.add((await list()).at).size > 2)
  ahead = 16_000
  await eventually('it is listed', async () => ((await unattended())?.count ?? 0) === 300)
  assert.match((await unattended())?.cause ?? '', /No live node runs the worker "one", which should run; 300 jobs wait/)
  ahead = 0
  const second = await forkApp({ app, env, rootDir, roles: 'worker,http' })
  atEnd(() => second.kill())
  await eventually('it has gone', async () => (await unattended()) === undefined)

  await redis.kill()
  await eventually('what was not checked is named', async () => {
    const { notChecked } = await list()
    return ['history', 'schedule-overdue', 'queue-paused'].every((kind) => notChecked.some((one) => one.kind === kind))
  })
  assert.ok((await list()).notChecked.every(({ reason }) => reason.length > 10))
  await second.kill()
  await redis.start()
})
