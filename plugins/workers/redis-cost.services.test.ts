import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { commandsDuring } from '../../scripts/testing/redis-monitor.js'
import { type RedisServer, redisServer } from '../../scripts/testing/redis-server.js'
import { type Workers, workers, workersService } from './index.js'

// A separate Redis: every command comes from the app of this test, whose timers are all too slow to interfere.
describe('the cost of workers on Redis', () => {
  let server: RedisServer
  let admin: Redis
  let host: TestHost
  let service: Workers

  before(async () => {
    server = await redisServer()
    admin = new Redis(server.url)
    host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { busy: () => 1 } })],
      env: { REDIS_URL: server.url, WORKER_PERSISTENCE_DRIVER: 'kvstore', WORKER_INTERVAL_MS: '60000', CLUSTER_HEARTBEAT_MS: '60000' },
    })
    service = host.service(workersService)
  })
  after(async () => {
    await host.stop()
    admin.disconnect()
    await server.stop()
  })

  const list = async (query: string) => {
    const answer = await host.inject({ path: `/api/workers${query}` })
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  it('40 lists do not change the number of connections', async () => {
    await service.create({ name: 'busy', queueName: 'busy' })
    await service.start('busy')
    const connections = async (): Promise<number> => ((await admin.client('LIST')) as string).trim().split('\n').length
    const before = await connections()
    for (let n = 0; n < 20; n++) await list('')
    await Promise.all(Array.from({ length: 20 }, () => list('?status=active&page=1&limit=10')))
    assert.equal(await connections(), before)
    await service.stop('busy')
  })

  it('a page costs as many round trips with 10 workers as with 1,000, whichever page it is', async () => {
    // What the node still writes about the workers just created can only add commands, so the shortest of several runs is the list's own.
    const counted = async (query: string, names: number) => {
      const runs: string[][] = []
      for (let run = 0; run < 3; run++) {
        const commands = await commandsDuring(server.url, async () => assert.equal((await list(query)).workers.length, names))
        runs.push(commands.map(({ name }) => name.replace(/^evalsha$/, 'eval')))
      }
      return runs.reduce((shortest, commands) => (commands.length < shortest.length ? commands : shortest))
    }
    const create = (first: number, last: number) => createWorkers(service, first, last)
    await create(1, 9)
    const small = await counted('?page=1&limit=10', 10)
    await create(10, 999)
    const { pagination } = await list('?limit=100')
    assert.deepEqual(pagination, { page: 1, limit: 100, total: 1000, totalPages: 10 })
    for (const [query, names] of [
      ['?page=1&limit=10', 10],
      ['?page=1&limit=100', 100],
      ['?page=10&limit=100', 100],
    ] as const) {
      assert.deepEqual(await counted(query, names), small, query)
    }
    // The records of the page, and their statuses.
    assert.deepEqual(small, ['eval', 'eval'])
    assert.deepEqual(await counted('?page=10&limit=100&status=inactive', 100), ['eval', 'eval', 'eval'])
  })

  it('100 workers created at once do not each read the list of places', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `at-once-${index}`)
    const commands = await commandsDuring(server.url, () =>
      Promise.all(names.map((name) => service.create({ name, queueName: 'many', processor: () => 1 }))),
    )
    const reads = commands.filter(({ name, args: [key = ''] }) => name === 'get' && key.endsWith(':places'))
    assert.ok(reads.length > 0 && reads.length < 50, `${reads.length} reads`)
  })
})

/** Creates `many-<first>` to `many-<last>`, and waits until this node has received the events of all of them. */
async function createWorkers(service: Workers, first: number, last: number): Promise<void> {
  const names = new Set(Array.from({ length: last - first + 1 }, (_, index) => `many-${String(first + index).padStart(4, '0')}`))
  const unheard = new Set(names)
  let unlisten: () => void = () => undefined
  const heard = new Promise<void>((resolve) => {
    unlisten = service.events(({ type, worker }) => {
      if (type === 'changed' && worker !== undefined && unheard.delete(worker) && unheard.size === 0) resolve()
    })
  })
  const left = [...names]
  const lane = async (): Promise<void> => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      await service.create({ name, queueName: 'many', processor: () => 1 }, { waitMs: 0 })
    }
  }
  await Promise.all(Array.from({ length: 50 }, lane))
  await heard
  unlisten()
}
