import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import { startServices } from '../services.js'
import { redisServer } from '../testing/redis-server.js'
import type { BenchRow } from './row.js'

/** Length of the measured idle time in ms; every timer of a consumer fires in it. */
const windowMs = 30_000
/** How long to wait after the last start until the apps are idle, in ms. */
const settleMs = 3_000
/** Apps that start or stop concurrently. */
const startsAtOnce = 2

/** Managed workers may cost at most this share of what idle bare workers cost; the aim is half. */
const most = 1
const aim = 0.5

/**
 * Measures what idle apps cost their stores, as counts of commands rather than times. Each app has a separate server, and all of them idle in
 * the same window, in which nothing else runs.
 */
export async function benchControlPlane(): Promise<BenchRow[]> {
  const { bare, managed, ...rest } = await idleTogether({
    managed: () => onRedis('managed', 10, 100),
    hundred: () => onRedis('nodes', 100, 100),
    bare: () => onRedis('bare', 10, 100),
    ten: () => onRedis('nodes', 10, 100),
    one: () => onRedis('nodes', 1, 100),
    tenOnSql: () => onSql(10),
    oneOnSql: () => onSql(1),
  })
  const ratio = managed.commands / bare.commands
  return [
    { name: 'bare BullMQ, 10 processes x 100 workers idle', value: bare.commands, unit: 'commands/s' },
    { name: 'managed, 10 processes x 100 workers idle', value: managed.commands, unit: 'commands/s' },
    { name: `managed against bare (aim ${aim.toFixed(2)})`, value: ratio, unit: 'x', budget: `<= ${most.toFixed(2)}`, pass: ratio <= most },
    {
      name: 'managed, 10 processes x 100 workers idle: messages',
      value: managed.messages,
      unit: 'messages/s',
      budget: '0 messages/s',
      pass: managed.messages === 0,
    },
    ...growth('Redis', 'commands/s', [
      [1, rest.one],
      [10, rest.ten],
      [100, rest.hundred],
    ]),
    ...growth('SQL', 'statements/s', [
      [1, rest.oneOnSql],
      [10, rest.tenOnSql],
    ]),
    ...(await manyWorkers()),
    await creationsOnSql(),
  ]
}

/** The cost of leases and polls per process must not grow with the number of processes; a fifth is tolerated for periodic work in the window. */
function growth(store: string, unit: string, measured: readonly (readonly [processes: number, idle: Idle])[]): BenchRow[] {
  const each = measured.map(([processes, { commands }]) => commands / processes)
  const grown = (each.at(-1) ?? 0) / (each[0] ?? 1)
  return [
    ...measured.map(([processes], index) => ({
      name: `lease and poll of ${processes} processes on ${store}, of each`,
      value: each[index] ?? 0,
      unit,
    })),
    { name: `cost of a process on ${store}, most against one`, value: grown, unit: 'x', budget: '<= 1.20', pass: grown <= 1.2 },
  ]
}

/** Measures 1,000 workers in one process: time until all run, cost of a page of their list, and memory. */
async function manyWorkers(): Promise<BenchRow[]> {
  const count = 1_000
  const { apps, calls, reset, started, stop } = await onRedis('managed', 1, count)
  try {
    await pause(settleMs)
    await reset()
    await apps('list')
    const scripts = (await calls()).get('eval') ?? 0
    return [
      { name: `${count} workers in one process: all run after`, value: started.ms / 1000, unit: 's' },
      { name: `${count} workers in one process: memory of a worker`, value: started.memoryKiB, unit: 'KiB' },
      {
        name: `a page of 100 of ${count} workers: round trips to each of the two stores`,
        value: scripts / 2,
        unit: 'round trips',
        budget: '1',
        pass: scripts === 2,
      },
    ]
  } finally {
    await stop()
  }
}

async function creationsOnSql(): Promise<BenchRow> {
  const { apps, stop } = await onSql(1, 'managed')
  try {
    const created = (await apps('create', 50)) as number
    return { name: 'creations on SQL, one after another, each until it runs', value: created, unit: '1/s' }
  } finally {
    await stop()
  }
}

interface Idle {
  /** Commands or statements, including those of scripts. */
  readonly commands: number
  /** Published messages, multiplied by the number of receivers. */
  readonly messages: number
}

/** Running apps with a separate server. */
interface Running {
  /** Starts counting; resolves to a function that returns the counts since then. */
  count(): Promise<() => Promise<Idle>>
  stop(): Promise<void>
}

/** Starts the apps and counts while all of them are idle; returns counts per second by name. */
async function idleTogether<Name extends string>(starts: Readonly<Record<Name, () => Promise<Running>>>): Promise<Record<Name, Idle>> {
  const running = new Map<Name, Running>()
  try {
    await inLanes(
      (Object.entries(starts) as [Name, () => Promise<Running>][]).map(([name, start]) => async () => {
        running.set(name, await start())
      }),
    )
    await pause(settleMs)
    const counted = await Promise.all([...running].map(async ([name, { count }]) => [name, await count()] as const))
    await pause(windowMs)
    const seconds = windowMs / 1000
    const results = counted.map(async ([name, read]) => {
      const { commands, messages } = await read()
      return [name, { commands: commands / seconds, messages: messages / seconds }] as const
    })
    return Object.fromEntries(await Promise.all(results)) as Record<Name, Idle>
  } finally {
    await inLanes([...running.values()].map(({ stop }) => stop))
  }
}

async function inLanes(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const left = [...tasks]
  const lane = async (): Promise<void> => {
    for (let task = left.shift(); task !== undefined; task = left.shift()) await task()
  }
  await Promise.all(Array.from({ length: startsAtOnce }, lane))
}

async function onRedis(kind: string, hosts: number, workers: number) {
  const server = await redisServer()
  const admin = new Redis(server.url)
  const apps = await startApps(kind, hosts, workers, { REDIS_URL: server.url, WORKER_PERSISTENCE_DRIVER: 'kvstore' })
  /** Calls of each command since the last reset, including those by scripts, without those of the measurement itself. */
  const calls = async (): Promise<ReadonlyMap<string, number>> => {
    const info = await admin.info('commandstats')
    const found = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', count]) => [name, Number(count)] as const)
    return new Map(found.filter(([name]) => !/^(config|info)/.test(name)))
  }
  const reset = async (): Promise<void> => void (await admin.config('RESETSTAT'))
  return {
    apps,
    started: (await apps('start')) as Started,
    calls,
    reset,
    async count() {
      await reset()
      return async () => {
        const seen = await calls()
        const commands = [...seen.values()].reduce((sum, count) => sum + count, 0)
        return { commands, messages: (seen.get('publish') ?? 0) * hosts }
      }
    },
    async stop() {
      await apps('stop')
      admin.disconnect()
      await server.stop()
    },
  }
}

/** Starts nodes on SQL, by default nodes that only manage workers. */
async function onSql(hosts: number, kind = 'nodes') {
  const services = await startServices()
  const sql = await createConnection(services.mysqlUrl)
  await sql.query('create database bench')
  const apps = await startApps(kind, hosts, 0, {
    REDIS_URL: services.redisUrl,
    WORKER_PERSISTENCE_DRIVER: 'db',
    CLUSTER_DRIVER: 'sql',
    DB_CONNECTION: 'rdb',
    DB_HOST: '127.0.0.1',
    DB_PORT: String(services.mysqlPort),
    DB_DATABASE: 'bench',
    DB_USERNAME: 'zin',
    DB_PASSWORD: 'zin',
  })
  await apps('start')
  const statements = async (): Promise<number> => {
    const [rows] = await sql.query("show global status like 'Questions'")
    return Number((rows as { Value: string }[])[0]?.Value)
  }
  return {
    apps,
    async count() {
      const before = await statements()
      return async () => ({ commands: (await statements()) - before, messages: 0 })
    },
    async stop() {
      await apps('stop')
      await sql.end()
      await services.stop()
    },
  }
}

interface Started {
  readonly ms: number
  readonly memoryKiB: number
}

async function startApps(kind: string, hosts: number, workers: number, env: object) {
  const file = fileURLToPath(new URL('./control-plane-child.mjs', import.meta.url))
  const child: ChildProcess = fork(file, [kind, String(hosts), String(workers), JSON.stringify(env)], { execArgv: [] })
  await once(child, 'message')
  return async (task: string, value?: unknown): Promise<unknown> => {
    child.send({ task, value })
    const [reply] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => [{ error: `the process of ${kind} ended` }]),
    ])) as [{ value?: unknown; error?: string }]
    if (reply.error !== undefined) throw new Error(reply.error)
    return reply.value
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
