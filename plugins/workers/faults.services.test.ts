import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { connectRedis } from '../../scripts/testing/redis-client.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { openRelay } from '../../scripts/testing/relay.js'
import { workers, workersService } from './index.js'

/** An app whose connections to a Redis of its own go through a relay. */
async function scene(t: TestContext) {
  const redis = await redisServer()
  t.after(() => redis.stop())
  const upstream = { host: '127.0.0.1', port: Number(new URL(redis.url).port) }
  const relay = await openRelay(upstream)
  t.after(() => relay.cut())
  const host = await createTestHost({
    plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
    env: { REDIS_URL: `redis://127.0.0.1:${relay.port}`, WORKER_AUTO_START: 'true' },
  })
  t.after(() => host.stop())
  const service = host.service(workersService)
  const done = new Map<number, number>()
  await service.create({
    name: 'task',
    queueName: 'task',
    concurrency: 2,
    processor: async ({ data }) => void done.set(data as number, (done.get(data as number) ?? 0) + 1),
  })
  let added = 0
  /** Adds jobs; resolves to those that were added for certain. */
  const add = async (count: number): Promise<readonly number[]> => {
    const numbers = Array.from({ length: count }, () => added++)
    const results = await Promise.allSettled(numbers.map((number) => service.enqueue('task', number)))
    return numbers.filter((_number, index) => results[index]?.status === 'fulfilled')
  }
  const have = (jobs: readonly number[]): boolean => jobs.every((job) => done.has(job))
  const before = await add(5)
  await eventually('the worker works', () => have(before))
  return { add, have, host, redis, relay, upstream }
}

type Scene = Awaited<ReturnType<typeof scene>>

/** Each begins and ends a fault. */
const faults: Readonly<Record<string, (scene: Scene, t: TestContext) => Promise<void>>> = {
  'a firewall forgets the existing connections': async ({ relay }) => relay.forget(),
  'the replies on existing connections are lost': async ({ relay }) => relay.forget('replies'),
  'what is sent on existing connections is lost': async ({ relay }) => relay.forget('requests'),
  'new connections are not answered for 10 s while existing ones work': async ({ relay }) => {
    relay.mute()
    await delay(10_000)
    relay.hear()
  },
  'connections are accepted and not answered for 20 s': async ({ relay }) => {
    relay.forget()
    relay.mute()
    await delay(20_000)
    relay.hear()
  },
  'the connections are cut, and refused for 5 s': async ({ relay }) => {
    await relay.cut()
    await delay(5_000)
    await relay.listen()
  },
  'the server becomes a replica of another one, and its connections stay': async ({ redis, relay, upstream }, t) => {
    const other = await redisServer()
    t.after(() => other.stop())
    const port = Number(new URL(other.url).port)
    const [old, next] = await Promise.all([redis, other].map(({ url }) => connectRedis(url, { name: 'failover', keyPrefix: '' })))
    await next?.call('REPLICAOF', upstream.host, upstream.port)
    await eventually('the replica has everything', async () =>
      /master_link_status:up/.test(String(await next?.call('INFO', 'replication'))),
    )
    await next?.call('REPLICAOF', 'NO', 'ONE')
    await old?.call('REPLICAOF', upstream.host, port)
    relay.redirect({ host: upstream.host, port })
    old?.disconnect()
    next?.disconnect()
  },
}

/** Within this time after a fault, workers take jobs again, in ms. */
const backWithinMs = 30_000

// Each waits for connections to be given up, so they run at the same time.
describe('workers on Redis take jobs again within 30 s, and lose none, after', { concurrency: true }, () => {
  for (const [fault, cause] of Object.entries(faults)) {
    it(fault, async (t) => {
      const own = await scene(t)
      const earlier = await own.add(20)
      await cause(own, t)
      const endedAt = performance.now()
      let later: readonly number[] = []
      await eventually('jobs are accepted', async () => {
        later = [...later, ...(await own.add(1))]
        return later.length >= 3
      })
      await eventually('it takes jobs', () => own.have(later.slice(0, 1)))
      const backMs = performance.now() - endedAt
      t.diagnostic(`back after ${Math.round(backMs / 1000)} s`)
      assert.ok(backMs < backWithinMs, `back after ${backMs} ms`)
      // A job whose reply was lost runs when its lock has ended.
      await eventually('every job has run', () => own.have([...earlier, ...later]))
    })
  }
})

it('the README has a row for each of these faults', () => {
  const text = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  const table = text.slice(text.indexOf('| after | back after |')).split('\n\n', 1)[0] ?? ''
  const rows = table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|')[1]?.trim())
  assert.deepEqual(rows.toSorted(), Object.keys(faults).toSorted())
})
