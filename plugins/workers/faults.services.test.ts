import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { clusterService, defineMessage } from 'zin/plugins/cluster'
import { kvService } from 'zin/plugins/kv'
import type { TestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { freePort } from '../../scripts/testing/free-port.js'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { connectRedis } from '../../scripts/testing/redis-client.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { openRelay } from '../../scripts/testing/relay.js'
import { assertComesBack, documentedFaults, faultHost, faultScene, writeRows } from './testing/fault-scene.js'

const portOf = (url: string): number => Number(new URL(url).port)
const local = (port: number) => ({ host: '127.0.0.1', port })

type Clean = ReturnType<typeof cleanUp>

/** Stores of one test, with what it may do to them. */
async function stores(clean: Clean) {
  const redis = await redisServer()
  clean(() => redis.stop())
  const relay = await openRelay(local(portOf(redis.url)))
  clean(() => relay.cut())
  return { redis, relay, env: { REDIS_URL: `redis://127.0.0.1:${relay.port}` } as Readonly<Record<string, string>> }
}

async function withMariaDb(clean: Clean) {
  const made = await stores(clean)
  const own = mysqlDatabase('faults')
  await own.create()
  clean(() => own.drop())
  const relay = await openRelay({ host: own.env.DB_HOST, port: Number(own.env.DB_PORT) })
  clean(() => relay.cut())
  return { ...made, relay, env: { ...made.env, ...own.env, DB_HOST: '127.0.0.1', DB_PORT: `${relay.port}` } }
}

/** A master, its replica, and a sentinel, without a relay: clients connect to the addresses that the sentinel reports. */
async function withSentinel(clean: Clean) {
  const made = await stores(clean)
  const replica = await replicaOf(made.redis.url, clean)
  const folder = mkdtempSync(join(tmpdir(), 'zin-sentinel-'))
  const port = await freePort()
  const settings = [`port ${port}`, `dir ${folder}`, `sentinel monitor main 127.0.0.1 ${portOf(made.redis.url)} 1`]
  const limits = ['sentinel down-after-milliseconds main 1000', 'sentinel failover-timeout main 5000']
  writeFileSync(join(folder, 'sentinel.conf'), [...settings, ...limits].join('\n'))
  const child = spawn('redis-server', [join(folder, 'sentinel.conf'), '--sentinel'], { stdio: 'ignore' })
  clean(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await eventually('the sentinel knows the replica', async () => {
    const known = await asking(`redis://127.0.0.1:${port}`, (sentinel) => sentinel.call('SENTINEL', 'replicas', 'main')).catch(() => [])
    return JSON.stringify(known).includes(`${portOf(replica.url)}`)
  })
  return { ...made, replica, sentinel: `redis://127.0.0.1:${port}`, env: { REDIS_URL: `redis-sentinel://127.0.0.1:${port}/main` } }
}

type Client = Awaited<ReturnType<typeof connectRedis>>

async function asking<T>(url: string, ask: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectRedis(url, { name: 'faults', keyPrefix: '' })
  try {
    return await ask(client)
  } finally {
    client.disconnect()
  }
}

async function replicaOf(url: string, clean: Clean) {
  const replica = await redisServer()
  clean(() => replica.stop())
  await asking(replica.url, async (client) => {
    await client.call('REPLICAOF', '127.0.0.1', portOf(url))
    await eventually('the replica has everything', async () =>
      /master_link_status:up/.test(String(await client.call('INFO', 'replication'))),
    )
  })
  return replica
}

const promote = (url: string): Promise<unknown> => asking(url, (client) => client.call('REPLICAOF', 'NO', 'ONE'))

type Stores = Awaited<ReturnType<typeof stores>>

interface Fault<S extends Stores> {
  readonly store: string
  readonly open: (clean: Clean) => Promise<S>
  /** Begins and ends it. */
  readonly cause: (stores: S, clean: Clean) => Promise<void>
}

const on =
  <S extends Stores>(store: string, open: (clean: Clean) => Promise<S>) =>
  (cause: Fault<S>['cause']): Fault<Stores> =>
    ({ store, open, cause }) as Fault<S> as unknown as Fault<Stores>
const onRedis = on('Redis', stores)
const onMariaDb = on('MariaDB', withMariaDb)
const onSentinel = on('Redis with Sentinel', withSentinel)

const silence = async ({ relay }: Stores): Promise<void> => {
  relay.forget()
  relay.mute()
  await delay(20_000)
  relay.hear()
}
const refusal = async ({ relay }: Stores): Promise<void> => {
  await relay.cut()
  await delay(5_000)
  await relay.listen()
}

const faults: Readonly<Record<string, Fault<Stores>>> = {
  'a firewall forgets the existing connections': onRedis(async ({ relay }) => relay.forget()),
  'the replies on existing connections are lost': onRedis(async ({ relay }) => relay.forget('replies')),
  'what is sent on existing connections is lost': onRedis(async ({ relay }) => relay.forget('requests')),
  'new connections are not answered for 10 s while existing ones work': onRedis(async ({ relay }) => {
    relay.mute()
    await delay(10_000)
    relay.hear()
  }),
  'connections are accepted and not answered for 20 s': onRedis(silence),
  'the connections are cut, and refused for 5 s': onRedis(refusal),
  'the server becomes a replica of another one, and its connections stay': onRedis(async ({ redis, relay }, clean) => {
    const other = await replicaOf(redis.url, clean)
    await promote(other.url)
    await asking(redis.url, (client) => client.call('REPLICAOF', '127.0.0.1', portOf(other.url)))
    relay.redirect(local(portOf(other.url)))
  }),
  'the address leads to another server, and the earlier one is silent': onRedis(async ({ redis, relay }, clean) => {
    const other = await replicaOf(redis.url, clean)
    relay.forget()
    await promote(other.url)
    relay.redirect(local(portOf(other.url)))
  }),
  'the sentinel makes the replica the master': onSentinel(async ({ sentinel, replica }) => {
    await asking(sentinel, (client) => client.call('SENTINEL', 'failover', 'main'))
    await isMaster(replica.url)
  }),
  'the master hangs, and the sentinel replaces it': onSentinel(async ({ redis, replica }, clean) => {
    await asking(redis.url, isReplicated)
    redis.hang()
    clean(() => redis.resume())
    await isMaster(replica.url)
  }),
  'a firewall forgets the existing connections to MariaDB': onMariaDb(async ({ relay }) => relay.forget()),
  'the replies of MariaDB on existing connections are lost': onMariaDb(async ({ relay }) => relay.forget('replies')),
  'connections to MariaDB are accepted and not answered for 20 s': onMariaDb(silence),
  'the connections to MariaDB are cut, and refused for 5 s': onMariaDb(refusal),
}

/** What the replica has not received is lost when it becomes the master: Redis replicates asynchronously. */
async function isReplicated(client: Client): Promise<void> {
  await client.call('SET', 'replicated', '1')
  assert.equal(await client.call('WAIT', 1, 20_000), 1)
}

function isMaster(url: string): Promise<void> {
  return eventually('the replica is the master', () =>
    asking(url, async (client) => /role:master/.test(String(await client.call('INFO', 'replication')))).catch(() => false),
  )
}

const rows = new Map<string, string>()

// Each waits for connections to be given up, so they run at the same time.
describe('workers take jobs again within 30 s, and lose none, after', { concurrency: true }, () => {
  for (const [name, { store, open, cause }] of Object.entries(faults)) {
    it(name, async (t) => {
      const clean = cleanUp(t)
      const opened = await open(clean)
      const app = await faultScene(clean, { env: opened.env })
      const other = await faultHost(clean, { env: opened.env, roles: ['http'] })
      const cells = await assertComesBack(app, () => cause(opened, clean))
      rows.set(name, `| ${store} | ${name} | ${cells} |`)
      await eventually('the key-value store works', () => works(app.host))
      await eventually('the processes hear each other', () => hear(app.host, other))
    })
  }

  after(() => writeRows(rows))
})

async function works(host: TestHost): Promise<boolean> {
  const store = host.service(kvService)
  try {
    await store.set('faults', 'works')
    return (await store.get('faults')) === 'works'
  } catch {
    return false
  }
}

const greeting = defineMessage<{ readonly from: string }>('faults.greeting')

async function hear(host: TestHost, other: TestHost): Promise<boolean> {
  let heard = false
  const stop = host.service(clusterService).on(greeting, () => {
    heard = true
  })
  await other
    .service(clusterService)
    .send(greeting, { from: 'other' })
    .catch(() => undefined)
  await delay(100)
  stop()
  return heard
}

it('the README has a row for each of these faults', () => {
  assert.deepEqual(
    documentedFaults((store) => store !== 'embedded'),
    Object.keys(faults).toSorted(),
  )
})
