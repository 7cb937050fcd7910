import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import { startServices } from '../services.js'
import { redisServer } from '../testing/redis-server.js'
import type { BenchRow } from './row.js'

/** Idle time that is counted, in ms: for all timers of consumers, and for heartbeats and polls alone. */
const longMs = 30_000
const shortMs = 10_000
/** After a start, until nothing of it goes on. */
const settleMs = 3_000

/** Of an idle bare worker: the whole may cost this, and half is aimed at. */
const most = 1
const aim = 0.5

interface Traffic {
  /** Commands a second, also those of scripts. */
  readonly commands: number
  /** Messages published a second, times those that receive them. */
  readonly messages: number
}

/** What idle apps cost their stores: counts of commands, not times. Every side has a Redis of its own. */
export async function benchControlPlane(): Promise<BenchRow[]> {
  const [{ traffic: bare }, { traffic: managed }, grown] = await Promise.all([idle('bare', 10, 100), idle('managed', 10, 100), growth()])
  const ratio = managed.commands / bare.commands
  const thousand = await manyWorkers()
  return [
    { name: 'bare BullMQ, 10 processes x 100 workers idle', value: bare.commands, unit: 'commands/s' },
    { name: 'managed, 10 processes x 100 workers idle', value: managed.commands, unit: 'commands/s' },
    {
      name: `managed against bare (aim ${aim.toFixed(2)})`,
      value: ratio,
      unit: 'x',
      budget: `<= ${most.toFixed(2)}`,
      pass: ratio <= most,
    },
    {
      name: 'managed, 10 processes x 100 workers idle: messages',
      value: managed.messages,
      unit: 'messages/s',
      budget: '0 messages/s',
      pass: managed.messages === 0,
    },
    ...thousand,
    ...grown,
    ...(await sqlGrowth()),
  ]
}

interface Started {
  readonly ms: number
  readonly memoryKiB: number
}

async function idle(kind: string, hosts: number, workers: number) {
  return onRedis(kind, hosts, workers, async (_apps, admin, started) => {
    await pause(settleMs)
    return { started, traffic: await traffic(admin, hosts, workers === 0 || kind === 'nodes' ? shortMs : longMs) }
  })
}

/** 1,000 workers in one process: that all run, what a page of their list costs, and their memory. */
async function manyWorkers(): Promise<BenchRow[]> {
  const count = 1_000
  return onRedis('managed', 1, count, async (apps, admin, { ms, memoryKiB }) => {
    await pause(settleMs)
    await admin.config('RESETSTAT')
    await apps('list')
    const scripts = (await calls(admin)).get('eval') ?? 0
    return [
      { name: `${count} workers in one process: all run after`, value: ms / 1000, unit: 's' },
      { name: `${count} workers in one process: memory of a worker`, value: memoryKiB, unit: 'KiB' },
      {
        name: `a page of 100 of ${count} workers: round trips to each of the two stores`,
        value: scripts / 2,
        unit: 'round trips',
        budget: '1',
        pass: scripts === 2,
      },
    ]
  })
}

/** Nodes that only manage workers: leases and polls alone. */
async function growth(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const hosts of [1, 10, 100]) {
    const { traffic: seen } = await idle('nodes', hosts, 100)
    rows.push({ name: `lease and poll of ${hosts} processes on Redis, of each`, value: seen.commands / hosts, unit: 'commands/s' })
  }
  return withLinear(rows, 'Redis')
}

/** The same on SQL, with the time that creations take there. */
async function sqlGrowth(): Promise<BenchRow[]> {
  const services = await startServices()
  const sql = await createConnection(services.mysqlUrl)
  const queries = async (): Promise<number> => {
    const [rows] = await sql.query("show global status like 'Questions'")
    return Number((rows as { Value: string }[])[0]?.Value)
  }
  /** A database for each start. */
  const startOn = async (kind: string, hosts: number, database: string): Promise<Apps> => {
    await sql.query(`create database ${database}`)
    const apps = await start(kind, hosts, 0, {
      APP_NAME: database,
      REDIS_URL: services.redisUrl,
      WORKER_PERSISTENCE_DRIVER: 'db',
      CLUSTER_DRIVER: 'sql',
      DB_CONNECTION: 'rdb',
      DB_HOST: '127.0.0.1',
      DB_PORT: String(services.mysqlPort),
      DB_DATABASE: database,
      DB_USERNAME: 'zin',
      DB_PASSWORD: 'zin',
    })
    await apps('start')
    return apps
  }
  try {
    const rows: BenchRow[] = []
    for (const hosts of [1, 10]) {
      const apps = await startOn('nodes', hosts, `idle_${hosts}`)
      await pause(settleMs)
      const before = await queries()
      await pause(shortMs)
      const each = ((await queries()) - before) / (shortMs / 1000) / hosts
      rows.push({ name: `lease and poll of ${hosts} processes on SQL, of each`, value: each, unit: 'statements/s' })
      await apps('stop')
    }
    const apps = await startOn('managed', 1, 'creations')
    const created = (await apps('create', 50)) as number
    await apps('stop')
    return [...withLinear(rows, 'SQL'), { name: 'creations on SQL, one after another, each until it runs', value: created, unit: '1/s' }]
  } finally {
    await sql.end()
    await services.stop()
  }
}

/** What a process costs must not grow with the number of processes; a fifth is left for what falls into the window. */
function withLinear(rows: readonly BenchRow[], store: string): BenchRow[] {
  const values = rows.map(({ value }) => value)
  const grown = (values.at(-1) ?? 0) / (values[0] ?? 1)
  return [
    ...rows,
    { name: `cost of a process on ${store}, most against one`, value: grown, unit: 'x', budget: '<= 1.20', pass: grown <= 1.2 },
  ]
}

type Apps = (task: string, value?: unknown) => Promise<unknown>

async function onRedis<T>(
  kind: string,
  hosts: number,
  workers: number,
  measure: (apps: Apps, admin: Redis, started: Started) => Promise<T>,
): Promise<T> {
  const server = await redisServer()
  const admin = new Redis(server.url)
  const apps = await start(kind, hosts, workers, { REDIS_URL: server.url, WORKER_PERSISTENCE_DRIVER: 'kvstore' })
  try {
    return await measure(apps, admin, (await apps('start')) as Started)
  } finally {
    await apps('stop')
    admin.disconnect()
    await server.stop()
  }
}

async function start(kind: string, hosts: number, workers: number, env: object): Promise<Apps> {
  const file = fileURLToPath(new URL('./control-plane-child.mjs', import.meta.url))
  const child: ChildProcess = fork(file, [kind, String(hosts), String(workers), JSON.stringify(env)], { execArgv: [] })
  await once(child, 'message')
  return async (task, value) => {
    child.send({ task, value })
    const [reply] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => [{ error: `the process of ${kind} ended` }]),
    ])) as [{ value?: unknown; error?: string }]
    if (reply.error !== undefined) throw new Error(reply.error)
    return reply.value
  }
}

async function traffic(admin: Redis, subscribers: number, ms: number): Promise<Traffic> {
  await admin.config('RESETSTAT')
  await pause(ms)
  const seen = await calls(admin)
  const total = [...seen.values()].reduce((sum, count) => sum + count, 0)
  return { commands: total / (ms / 1000), messages: ((seen.get('publish') ?? 0) * subscribers) / (ms / 1000) }
}

/** Calls of each command since the last reset, also by scripts; not those of the measurement. */
async function calls(admin: Redis): Promise<ReadonlyMap<string, number>> {
  const info = await admin.info('commandstats')
  const found = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', count]) => [name, Number(count)] as const)
  return new Map(found.filter(([name]) => !/^(config|info)/.test(name)))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
