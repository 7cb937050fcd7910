import { once } from 'node:events'
import { type ClientRequest, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { cluster, database, kv, ops, queueMonitor, queues, workers } from 'zin/plugins'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { redisServer } from '../testing/redis-server.js'
import { type BenchRow, below } from './row.js'

const app = 'bench-monitor'
const few = 1_000
const many = 1_000_000
const purged = 200_000
/** Jobs written per round trip. */
const writtenAtOnce = 10_000
/** A full period of the sampler, in ms. */
const windowMs = 30_000

/** Measures what the queue monitor costs Redis: commands for statistics and streams, and the longest command of a purge. */
export async function benchMonitor(): Promise<BenchRow[]> {
  const server = await redisServer()
  const redis = new Redis(server.url)
  const host = await createTestHost({
    app: { name: app },
    listen: true,
    plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { flow: () => null } }), queueMonitor()],
    env: { REDIS_URL: server.url, WORKER_AUTO_START: 'true' },
  })
  try {
    return [...(await statsRows(host, redis)), ...(await streamRows(host, redis)), ...(await purgeRows(host, redis))]
  } finally {
    await host.stop()
    redis.disconnect()
    await server.stop()
  }
}

async function statsRows(host: TestHost, redis: Redis): Promise<BenchRow[]> {
  await host.service(queuesService).add('kept', 'first', {}, { delay: 86_400_000 })
  await keep(redis, 0, few)
  const small = await askFor(host, redis)
  await keep(redis, few, many)
  const large = await askFor(host, redis)
  const same = large.commands / small.commands
  return [
    { name: 'GET /api/queue/stats once a second, 1 k kept jobs', value: small.commands, unit: 'commands/s' },
    { name: 'the same, 1 M kept jobs', value: large.commands, unit: 'commands/s' },
    { name: '1 M against 1 k: commands', value: same, unit: 'x', budget: '0.90-1.10', pass: same >= 0.9 && same <= 1.1 },
    { name: 'GET /api/queue/stats, 1 k kept jobs, p99', value: small.p99, unit: 'ms' },
    { name: 'the same, 1 M kept jobs, p99', value: large.p99, unit: 'ms' },
  ]
}

async function streamRows(host: TestHost, redis: Redis): Promise<BenchRow[]> {
  const clients: ClientRequest[] = []
  const open = async (): Promise<void> => {
    const client = get(`${host.url}/api/queue/events`, { headers: { 'x-requested-with': 'bench' } })
    clients.push(client)
    client.on('error', () => undefined)
    const [response] = await once(client, 'response')
    response.resume()
  }
  await open()
  const one = await commandsPerSecond(redis, () => wait(windowMs))
  for (let n = 1; n < 100; n++) await open()
  const hundred = await commandsPerSecond(redis, () => wait(windowMs))
  for (const client of clients) client.destroy()
  return [
    { name: '1 stream of the statistics', value: one, unit: 'commands/s' },
    { name: '100 streams of the statistics', value: hundred, unit: 'commands/s' },
    { name: '100 streams against 1', value: hundred / one, unit: 'x', budget: '0.90-1.10', pass: Math.abs(hundred / one - 1) <= 0.1 },
  ]
}

async function purgeRows(host: TestHost, redis: Redis): Promise<BenchRow[]> {
  const service = host.service(queuesService)
  await service.add('doomed', 'first', {})
  await writeWaiting(redis, purged)
  await host.service(workersService).create({ name: 'flow', queueName: 'flowing' })
  const flow = flowOf(host)
  const before = await flow.rate(() => wait(3_000))
  await redis.config('SET', 'slowlog-log-slower-than', '1000')
  await redis.config('SET', 'slowlog-max-len', '10000')
  await redis.slowlog('RESET')
  const started = performance.now()
  const during = await flow.rate(async () => {
    const path = '/api/queue/doomed/purge?wait=0'
    // Jobs of the last second would be read one at a time.
    await wait(1_500)
    const { body } = await host.inject({ method: 'POST', path, headers: { 'x-requested-with': 'bench' }, body: { status: 'waiting' } })
    const { id } = (body as { operation: { id: string } }).operation
    for (;;) {
      const found = await host.inject({ method: 'GET', path: `/api/operations/${id}`, headers: { 'x-requested-with': 'bench' } })
      if ((found.body as { operation: { state: string } }).operation.state !== 'running') return
      await wait(100)
    }
  })
  const seconds = (performance.now() - started) / 1000
  const slow = (await redis.slowlog('GET', 10_000)) as readonly (readonly [number, number, number, readonly string[]])[]
  await flow.stop()
  const longest = slow.toSorted(([, , a], [, , b]) => b - a)[0]
  const left = (await service.counts('doomed')).waiting
  return [
    { name: `purge of ${purged} waiting jobs`, value: seconds, unit: 's' },
    { name: 'jobs that it left', value: left, unit: 'jobs', budget: '0 jobs', pass: left === 0 },
    below(`its longest command on Redis (${longest?.[3][0] ?? 'none above 1 ms'})`, (longest?.[2] ?? 0) / 1000, 'ms', 20),
    { name: 'jobs of another queue before it', value: before, unit: 'jobs/s' },
    { name: 'jobs of another queue during it', value: during, unit: 'jobs/s', budget: '> 0 jobs/s', pass: during > 0 },
  ]
}

/** Adds jobs to a queue with a worker, a hundred at a time. */
function flowOf(host: TestHost) {
  const service = host.service(queuesService)
  let [added, stopped] = [0, false]
  const worker = (async () => {
    while (!stopped) {
      await service.addBulk(
        'flowing',
        Array.from({ length: 100 }, () => ({ name: 'x', options: { removeOnComplete: true } })),
      )
      added += 100
      while (!stopped && (await service.counts('flowing')).waiting > 200) await wait(10)
    }
  })()
  return {
    async rate(work: () => Promise<unknown>): Promise<number> {
      const [from, started] = [added, performance.now()]
      await work()
      return ((added - from) * 1000) / (performance.now() - started)
    },
    async stop(): Promise<void> {
      stopped = true
      await worker
    },
  }
}

/** Returns commands per second, and the p99 of many requests. */
async function askFor(host: TestHost, redis: Redis): Promise<{ readonly commands: number; readonly p99: number }> {
  const ask = () => host.inject({ path: '/api/queue/stats', headers: { 'x-requested-with': 'bench' } })
  const commands = await commandsPerSecond(redis, async () => {
    for (let n = 0; n < windowMs / 1000; n++) {
      await ask()
      await wait(1_000)
    }
  })
  const times: number[] = []
  for (let n = 0; n < 500; n++) {
    const started = performance.now()
    await ask()
    times.push(performance.now() - started)
  }
  return { commands, p99: times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0 }
}

async function commandsPerSecond(redis: Redis, work: () => Promise<unknown>): Promise<number> {
  await redis.config('RESETSTAT')
  const started = performance.now()
  await work()
  const text = await redis.info('commandstats')
  const calls = [...text.matchAll(/^cmdstat_(?!info|config|slowlog)[^:]+:calls=(\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
  return (calls * 1000) / (performance.now() - started)
}

const key = (queue: string, name: string): string => `{${app}}:${queue}:${name}`

/** Writes completed jobs `from` to `to` of the queue `kept`, in BullMQ's format. */
async function keep(redis: Redis, from: number, to: number): Promise<void> {
  const now = Date.now()
  for (let start = from; start < to; start += writtenAtOnce) {
    const pipeline = redis.pipeline()
    for (let n = start; n < Math.min(to, start + writtenAtOnce); n++) {
      pipeline.hset(key('kept', `k${n}`), 'name', 'x', 'data', '{}', 'opts', '{}', 'timestamp', now, 'finishedOn', now, 'processedOn', now)
      pipeline.zadd(key('kept', 'completed'), now + n / many, `k${n}`)
    }
    await pipeline.exec()
  }
}

/** Writes waiting jobs of the queue `doomed`. */
async function writeWaiting(redis: Redis, count: number): Promise<void> {
  const now = Date.now() - 60_000
  for (let start = 0; start < count; start += writtenAtOnce) {
    const pipeline = redis.pipeline()
    for (let n = start; n < start + writtenAtOnce; n++) {
      pipeline.hset(key('doomed', `w${n}`), 'name', 'x', 'data', '{}', 'opts', '{}', 'timestamp', now, 'delay', 0, 'priority', 0)
      pipeline.lpush(key('doomed', 'wait'), `w${n}`)
    }
    await pipeline.exec()
  }
}
