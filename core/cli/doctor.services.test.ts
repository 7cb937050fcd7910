import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { mysqlDatabase, onMysql } from '../../scripts/testing/mysql-database.js'
import { mysqlServer } from '../../scripts/testing/mysql-server.js'
import { type RedisServer, redisServer } from '../../scripts/testing/redis-server.js'

type Env = Readonly<Record<string, string>>

interface Row {
  readonly state: 'ok' | 'problem'
  readonly check: string
  readonly message: string
  readonly fix?: string
}

const config = `import { defineConfig } from 'zin'
import { database, kv, queues } from 'zin/plugins'
export default defineConfig({ app: { name: 'shop' }, plugins: [database(), kv(), queues()] })
`
const secret = 'canary-of-a-password'
const tables = mysqlDatabase('doctor')
const { DB_HOST, DB_PORT, DB_DATABASE } = tables.env
const where = `database ${DB_DATABASE} on ${DB_HOST}:${DB_PORT}`
/** By suffix of the name: what the account may do. */
const accounts = {
  rows: `grant select, insert, update, delete on ${DB_DATABASE}.* to`,
  reader: `grant select on ${DB_DATABASE}.* to`,
  other: 'grant usage on *.* to',
} as const
const user = (of: keyof typeof accounts): string => `${DB_DATABASE.slice(-8)}_${of}`

let app: AppFolder
let redis: RedisServer
const servers: RedisServer[] = []
const redisOf = (server: RedisServer): string => server.url.replace('redis://', '')

async function asAdministrator(statements: readonly string[]): Promise<void> {
  const { DB_USERNAME, DB_PASSWORD } = tables.env
  const connection = await createConnection({ host: DB_HOST, port: Number(DB_PORT), user: DB_USERNAME, password: DB_PASSWORD })
  for (const statement of statements) await connection.query(statement)
  await connection.end()
}

const newRedis = async (...args: readonly string[]): Promise<RedisServer> => {
  const server = await redisServer(...args)
  servers.push(server)
  return server
}

before(async () => {
  await tables.create()
  redis = await newRedis()
  await asAdministrator(
    Object.entries(accounts).flatMap(([of, grant]) => {
      const name = `'${user(of as keyof typeof accounts)}'@'127.0.0.1'`
      return [`create user ${name} identified by '${secret}'`, `${grant} ${name}`]
    }),
  )
  app = await appFolder({ 'zin.config.mjs': config, '.env': 'APP_NAME=shop\n' })
  await chmod(join(app.folder, '.env'), 0o600)
})
after(async () => {
  await app.remove()
  for (const server of servers) await server.stop()
  await asAdministrator(Object.keys(accounts).map((of) => `drop user '${user(of as keyof typeof accounts)}'@'127.0.0.1'`))
  await tables.drop()
})

async function doctor(env: Env) {
  const { code, out, err } = await app.zin(['doctor', '--json'], {
    ...tables.env,
    REDIS_URL: redis.url,
    REDIS_CONNECT_TIMEOUT_MS: '2000',
    DB_CONNECT_TIMEOUT_MS: '2000',
    ...env,
  })
  assert.doesNotMatch(out + err, new RegExp(secret))
  const rows = JSON.parse(out) as readonly Row[]
  const problems = rows.filter(({ state }) => state === 'problem')
  assert.equal(code, problems.length === 0 ? 0 : 1)
  return { rows, problems }
}

/** A server whose clock is wrong, for who reads it: a time in its replies is changed. */
async function withWrongClock<T>(port: number, time: RegExp, byMs: number, work: (port: number) => Promise<T>): Promise<T> {
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    for (const [end, other] of [
      [client, server],
      [server, client],
    ] as const)
      sockets.add(end.on('error', () => undefined).on('close', () => other.destroy()))
    client.pipe(server)
    server.on('data', (chunk: Buffer) => {
      const moved = (found: string, digits: string): string =>
        found.replace(digits, `${Number(digits) + (digits.length > 10 ? byMs : byMs / 1000)}`)
      client.write(Buffer.from(chunk.toString('latin1').replace(time, moved), 'latin1'))
    })
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  try {
    return await work((proxy.address() as AddressInfo).port)
  } finally {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  }
}

describe('zin doctor on Redis and MariaDB', () => {
  it('finds nothing where all is well, and checks each server once', async () => {
    const { problems, rows } = await doctor({})
    assert.deepEqual(problems, [])
    const checks = rows.map(({ check }) => check)
    const at = `Redis at ${redisOf(redis)}`
    for (const check of [
      where,
      `permissions in ${where}`,
      `clock of ${where}`,
      at,
      `permissions in ${at}`,
      `memory of ${at}`,
      `clock of ${at}`,
    ])
      assert.equal(checks.filter((one) => one === check).length, 1, `${check} in ${checks.join('\n')}`)
    assert.match(rows.find(({ check }) => check === at)?.message ?? '', /version \d/)
    assert.match(rows.find(({ check }) => check === where)?.message ?? '', onMysql ? /version \d/ : /version .*MariaDB/)
  })

  const account = (of: keyof typeof accounts): Env => ({ DB_USERNAME: user(of), DB_PASSWORD: secret })
  const databases: readonly (readonly [what: string, env: () => Env, check: RegExp, says: RegExp])[] = [
    ['a password that is wrong', () => ({ ...account('rows'), DB_PASSWORD: `${secret}-2` }), /^database/, /DB_USERNAME and DB_PASSWORD/],
    ['a database that the account does not see', () => account('other'), /^database/, /grant|privilege|Access denied|DB_DATABASE/i],
    [
      'an account without the privileges of migrations',
      () => account('rows'),
      /^permissions in database/,
      /lacks CREATE, ALTER, INDEX, DROP\b.*grant CREATE, ALTER, INDEX, DROP on .*DB_MIGRATE=manual/,
    ],
    [
      'an account that only reads',
      () => ({ ...account('reader'), DB_MIGRATE: 'manual' }),
      /^permissions in database/,
      /lacks INSERT, UPDATE, DELETE\b/,
    ],
    ['a port where no server is', () => ({ DB_PORT: '9' }), /^database .*:9$/, /DB_HOST and DB_PORT/],
  ]
  for (const [what, env, check, says] of databases)
    it(`names ${what}`, async () => {
      const { problems } = await doctor(env())
      assert.equal(problems.length, 1, JSON.stringify(problems))
      assert.match(problems[0]?.check ?? '', check)
      assert.match(`${problems[0]?.message}. ${problems[0]?.fix}`, says)
    })

  it('needs no privileges of migrations where DB_MIGRATE is manual', async () => {
    assert.deepEqual((await doctor({ ...account('rows'), DB_MIGRATE: 'manual' })).problems, [])
  })

  const redises: readonly (readonly [
    what: string,
    args: () => readonly string[],
    url: (server: RedisServer) => string,
    found: readonly (readonly [check: RegExp, says: RegExp])[],
    env?: Env,
  ])[] = [
    [
      'a password of Redis that is wrong',
      () => ['--requirepass', secret],
      (server) => `redis://:${secret}-2@${redisOf(server)}`,
      [[/^Redis at/, /REDIS_URL/]],
    ],
    ['a password of Redis that is missing', () => ['--requirepass', secret], (server) => server.url, [[/^Redis at/, /REDIS_URL/]]],
    [
      'a user of Redis that may write other keys only',
      () => ['--user', 'shop', 'on', `>${secret}`, '~other:*', '&*', '+@all'],
      (server) => `redis://shop:${secret}@${redisOf(server)}`,
      [[/^permissions in Redis/, /NOPERM.*ACL SETUSER/]],
    ],
    [
      'a user of Redis that may not write the keys of the queues',
      () => ['--user', 'shop', 'on', `>${secret}`, '~shop:kv:*', '&*', '+@all'],
      (server) => `redis://shop:${secret}@${redisOf(server)}`,
      [[/^permissions in Redis/, /NOPERM.*ACL SETUSER/]],
    ],
    [
      'a replica that cannot be written',
      () => ['--replicaof', ...redisOf(redis).split(':')],
      (server) => server.url,
      [[/^permissions in Redis/, /READONLY.*Set REDIS_URL to the master/]],
    ],
    [
      'a Redis that drops keys',
      () => ['--maxmemory-policy', 'allkeys-lru'],
      (server) => server.url,
      [[/^memory of Redis/, /maxmemory-policy is allkeys-lru.*noeviction/]],
      { NODE_ENV: 'production', APP_NAME: 'shop' },
    ],
    [
      'a Redis whose memory is full',
      () => ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'],
      (server) => server.url,
      [[/^permissions in Redis/, /OOM.*more memory/]],
    ],
  ]
  for (const [what, args, url, found, env = {}] of redises)
    it(`names ${what}`, async () => {
      const server = await newRedis(...args())
      const { problems } = await doctor({ REDIS_URL: url(server), ...env })
      assert.equal(problems.length, found.length, JSON.stringify(problems))
      found.forEach(([check, says], i) => {
        assert.match(problems[i]?.check ?? '', check)
        assert.match(`${problems[i]?.message}. ${problems[i]?.fix}`, says)
      })
    })

  it('only mentions the policy outside of production', async () => {
    const server = await newRedis('--maxmemory-policy', 'allkeys-lru')
    const { problems, rows } = await doctor({ REDIS_URL: server.url })
    assert.deepEqual(problems, [])
    assert.match(rows.find(({ check }) => check.startsWith('memory of'))?.message ?? '', /in production it must be noeviction/)
  })

  it('names a Redis that hangs, one that has ended, and the database as well', async () => {
    const server = await newRedis()
    server.hang()
    const hung = await doctor({ REDIS_URL: server.url, DB_PORT: '9' })
    assert.deepEqual(hung.problems.map(({ check }) => check.split(' ')[0]).toSorted(), ['Redis', 'database'])
    server.resume()
    await server.stop()
    const { problems } = await doctor({ REDIS_URL: server.url })
    assert.deepEqual(
      problems.map(({ check }) => check),
      [`Redis at ${redisOf(server)}`],
    )
  })

  it('names a MariaDB that is read-only, one that hangs, and one that has ended', { timeout: 120_000 }, async () => {
    const server = await mysqlServer()
    const check = `database zin on 127.0.0.1:${server.env.DB_PORT}`
    try {
      const { DB_HOST: host, DB_PORT: port, DB_USERNAME: name, DB_PASSWORD: password } = server.env
      const connection = await createConnection({ host, port: Number(port), user: name, password })
      await connection.query('set global read_only = 1')
      await connection.end()
      const readOnly = (await doctor(server.env)).problems
      assert.deepEqual(
        readOnly.map((one) => [one.check, /is read-only, as a replica is/.test(one.message)]),
        [[`writes to ${check}`, true]],
      )
      server.hang()
      assert.deepEqual(
        (await doctor(server.env)).problems.map((one) => one.check),
        [check],
      )
      server.resume()
    } finally {
      await server.stop()
    }
    assert.deepEqual(
      (await doctor(server.env)).problems.map((one) => one.check),
      [check],
    )
  })

  for (const [byMs, words] of [
    [3_600_000, 'behind'],
    [-3_600_000, 'ahead of'],
  ] as const) {
    it(`names a clock of Redis that this one is an hour ${words}`, () =>
      withWrongClock(Number(new URL(redis.url).port), /\*2\r\n\$10\r\n(\d{10})\r\n/, byMs, async (port) => {
        const { problems } = await doctor({ REDIS_URL: `redis://127.0.0.1:${port}` })
        assert.equal(problems.length, 1, JSON.stringify(problems))
        const [, ms, found] = /^this machine is (\d+) ms (.+) it$/.exec(problems[0]?.message ?? '') ?? []
        assert.ok(Math.abs(Number(ms) - 3_600_000) < 5_000 && found === words, problems[0]?.message)
        assert.match(problems[0]?.fix ?? '', /NTP/)
      }))

    it(`names a clock of MariaDB that this one is an hour ${words}`, () =>
      withWrongClock(Number(DB_PORT), /\r(\d{13})/, byMs, async (port) => {
        const { problems } = await doctor({ DB_PORT: `${port}` })
        assert.equal(problems.length, 1, JSON.stringify(problems))
        assert.equal(problems[0]?.check, `clock of database ${DB_DATABASE} on 127.0.0.1:${port}`)
        assert.match(problems[0]?.message ?? '', new RegExp(`^this machine is \\d+ ms ${words} it$`))
      }))
  }

  it('names a disk that is full', async () => {
    const preload = join(app.folder, 'small-disk.mjs')
    await writeFile(
      preload,
      `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { statfsSync } = fs
fs.statfsSync = (...args) => Object.assign(statfsSync(...args), { bsize: 2 ** 20, bavail: 100 })
syncBuiltinESMExports()
`,
    )
    const child = spawn(process.execPath, ['--import', preload, join(import.meta.dirname, '..', '..', 'dist', 'cli.js'), 'doctor'], {
      cwd: app.folder,
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...tables.env, REDIS_URL: redis.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    const [code] = await once(child, 'close')
    assert.equal(code, 1, out)
    assert.deepEqual(
      out
        .split('\n')
        .filter((line) => line.startsWith('problem'))
        .map((line) => line.replace(/disk of \S+:/, 'disk:')),
      ['problem  disk: 100 MB are free. Free space: the data needs at least 256 MB'],
    )
  })
})
