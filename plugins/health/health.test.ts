import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { sql } from 'kysely'
import { definePlugin, type Plugin, type ReadinessReport } from 'zin'
import { type Database, databaseService, database as sqlite } from 'zin/plugins/database'
import { type HealthCheck, type HealthOptions, health, healthChecksService } from 'zin/plugins/health'
import { type Kv, kvService } from 'zin/plugins/kv'
import { createTestHost, describePlugin, fakeClock, type TestHost } from 'zin/testing'
import { smallDisk } from '../../scripts/testing/small-disk.js'

const now = '2026-01-02T03:04:05.000Z'

/** A database and a kv whose state the test sets. */
function makeStores() {
  const state = { connected: true, database: 'up' as 'up' | 'down' | 'hung', cache: 'up' as 'up' | 'down' | 'hung', calls: [] as string[] }
  const ping = (name: 'database' | 'cache', signal: AbortSignal | undefined): Promise<number> => {
    state.calls.push(`${name} ping`)
    if (state[name] === 'down') return Promise.reject(new Error(`${name}: connect ECONNREFUSED 10.0.0.7:3306`))
    return state[name] === 'up'
      ? Promise.resolve(3)
      : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const database: Partial<Database> = {
    get connected() {
      return state.connected
    },
    async connect() {
      state.calls.push('database connect')
      state.connected = true
    },
    ping: (signal) => ping('database', signal),
    writeFault: async () => undefined,
  }
  const kv: Partial<Kv> = { ping: (signal) => ping('cache', signal) }
  const databasePlugin = definePlugin({
    name: 'some-db',
    version: '1.0.0',
    provides: [databaseService],
    setup: (ctx) => ctx.provide(databaseService, database as Database),
  })
  const kvPlugin = definePlugin({
    name: 'some-kv',
    version: '1.0.0',
    provides: [kvService],
    setup: (ctx) => ctx.provide(kvService, kv as Kv),
  })
  return { state, database: databasePlugin(), kv: kvPlugin() }
}

/** A plugin that registers checks, and returns the given report to `collectReadiness`. */
function makeMember(checks: readonly HealthCheck[], readiness?: () => ReadinessReport): Plugin {
  const member = definePlugin({
    name: 'member',
    version: '1.0.0',
    uses: { checks: healthChecksService },
    setup(ctx) {
      for (const check of checks) ctx.onStop(ctx.services.checks.register(check))
      if (readiness !== undefined) ctx.hooks.on('collectReadiness', readiness)
    },
  })
  return member()
}

interface Given {
  readonly plugins?: readonly Plugin[]
  readonly env?: Readonly<Record<string, string>>
  readonly options?: Partial<HealthOptions>
}

async function withHost({ plugins = [], env = {}, options = {} }: Given, test: (host: TestHost) => Promise<void>): Promise<void> {
  const host = await createTestHost({ plugins: [...plugins, health(options)], env, clock: fakeClock(Date.parse(now)) })
  try {
    await test(host)
  } finally {
    await host.stop()
  }
}

const get = async (host: TestHost, path: string): Promise<[number, unknown]> => {
  const { status, body } = await host.inject({ path })
  return [status, body]
}
const draft = async (host: TestHost, path: string) => host.inject({ path, headers: { accept: 'application/health+json' } })

describe('GET /health', () => {
  it('reports a connected database, in exactly the fields of the specification', () => {
    const stores = makeStores()
    return withHost({ plugins: [stores.database], env: { NODE_ENV: 'staging' } }, async (host) => {
      const { status, body, headers } = await host.inject({ path: '/health' })
      assert.equal(typeof body.uptime, 'number')
      assert.ok(body.uptime > 0)
      assert.deepEqual(
        [status, { ...body, uptime: 1 }],
        [200, { status: 'healthy', timestamp: now, uptime: 1, database: 'connected', environment: 'staging' }],
      )
      assert.deepEqual(Object.keys(body), ['status', 'timestamp', 'uptime', 'database', 'environment'])
      assert.equal(headers['cache-control'], 'no-store')
    })
  })

  it('reports an uptime of 0 where the runtime has none', (t) => {
    t.mock.method(process, 'uptime', () => undefined as never)
    return withHost({}, async (host) => {
      for (const path of ['/health', '/health/live']) assert.equal((await host.inject({ path })).body.uptime, 0)
    })
  })

  it('connects first only when the database is not connected', () => {
    const stores = makeStores()
    stores.state.connected = false
    return withHost({ plugins: [stores.database] }, async (host) => {
      await get(host, '/health')
      await get(host, '/health')
      assert.deepEqual(stores.state.calls, ['database connect', 'database ping', 'database ping'])
    })
  })

  for (const [environment, error] of [
    ['production', 'Service unavailable'],
    ['prod', 'Service unavailable'],
    ['test', 'database: connect ECONNREFUSED 10.0.0.7:3306'],
  ] as const) {
    it(`responds 503 with "${error}" in ${environment} when the database is down, and logs why`, () => {
      const stores = makeStores()
      stores.state.database = 'down'
      return withHost({ plugins: [stores.database], env: { NODE_ENV: environment } }, async (host) => {
        assert.deepEqual(await get(host, '/health'), [503, { status: 'unhealthy', timestamp: now, database: 'disconnected', error }])
        assert.match(host.logText(), /health check failed/)
        assert.match(host.logText(), /ECONNREFUSED/)
      })
    })
  }

  it('reports healthy as soon as the database is back', () => {
    const stores = makeStores()
    return withHost({ plugins: [stores.database] }, async (host) => {
      for (const [database, status] of [
        ['up', 200],
        ['down', 503],
        ['up', 200],
      ] as const) {
        stores.state.database = database
        assert.equal((await get(host, '/health'))[0], status)
      }
      assert.match(host.logText(), /health check passes again/)
    })
  })

  it('does not wait for a hung database longer than its deadline', () => {
    const stores = makeStores()
    stores.state.database = 'hung'
    return withHost({ plugins: [stores.database], options: { databaseTimeoutMs: 20 } }, async (host) => {
      const [status, body] = await get(host, '/health')
      assert.deepEqual([status, (body as { error: string }).error], [503, 'database did not respond within 20 ms'])
    })
  })

  it('pings the database once for many callers', () => {
    const stores = makeStores()
    return withHost({ plugins: [stores.database], options: { cacheMs: 1000 } }, async (host) => {
      const responses = await Promise.all(
        Array.from({ length: 50 }, (_, index) => get(host, index % 2 === 0 ? '/health' : '/health/ready')),
      )
      assert.ok(responses.every(([status]) => status === 200))
      assert.deepEqual(stores.state.calls, ['database ping'])
    })
  })

  it('is healthy without a database plugin, and reports it as unconfigured', () =>
    withHost({}, async (host) => {
      const [status, body] = await get(host, '/health')
      assert.deepEqual([status, (body as { database: string }).database], [200, 'unconfigured'])
    }))
})

describe('GET /health/live', () => {
  it('is 200 and runs no checks, whatever the state of the database', () => {
    const stores = makeStores()
    stores.state.database = 'hung'
    return withHost({ plugins: [stores.database] }, async (host) => {
      const [status, body] = await get(host, '/health/live')
      assert.deepEqual([status, Object.keys(body as object)], [200, ['status', 'timestamp', 'uptime']])
      assert.deepEqual([(body as { status: string }).status, (body as { timestamp: string }).timestamp], ['alive', now])
      assert.deepEqual(stores.state.calls, [])
    })
  })
})

describe('GET /health/ready', () => {
  const ready = { status: 'ready', responseTime: 0 }

  it('lists the database, and no cache unless CACHE_DRIVER is kv', async () => {
    const stores = makeStores()
    await withHost({ plugins: [stores.database, stores.kv] }, async (host) => {
      assert.deepEqual(await get(host, '/health/ready'), [
        200,
        { status: 'ready', timestamp: now, environment: 'test', dependencies: { database: ready } },
      ])
      assert.deepEqual(stores.state.calls, ['database ping'])
    })
  })

  it('probes the cache when CACHE_DRIVER is kv', () => {
    const stores = makeStores()
    return withHost({ plugins: [stores.database, stores.kv], env: { CACHE_DRIVER: 'kv' } }, async (host) => {
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual(
        [status, (body as { dependencies: object }).dependencies],
        [200, { database: ready, cache: { status: 'ready', responseTime: 3 } }],
      )
    })
  })

  it('stops waiting for a cache after 2000 ms', () => {
    const stores = makeStores()
    stores.state.cache = 'hung'
    return withHost({ plugins: [stores.database, stores.kv], env: { CACHE_DRIVER: 'kv' } }, async (host) => {
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual([status, (body as { error: string }).error], [503, 'cache did not respond within 2000 ms'])
    })
  })

  it('refuses to boot with an unknown CACHE_DRIVER, and lists the supported ones', () =>
    assert.rejects(
      withHost({ env: { CACHE_DRIVER: 'redis' } }, async () => undefined),
      /CACHE_DRIVER.*memory.*kv/s,
    ))

  it('omits the cache without a kv plugin, and warns at boot', () => {
    const stores = makeStores()
    return withHost({ plugins: [stores.database], env: { CACHE_DRIVER: 'kv' } }, async (host) => {
      assert.match(host.logText(), /CACHE_DRIVER is kv and no kv plugin is enabled/)
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual([status, (body as { dependencies: object }).dependencies], [200, { database: ready }])
    })
  })

  it('responds 503 when the database is down; the cache is listed when it is checked', async () => {
    for (const [driver, cache] of [
      ['memory', {}],
      ['kv', { cache: { status: 'ready', responseTime: 3 } }],
    ] as const) {
      const stores = makeStores()
      stores.state.database = 'down'
      await withHost({ plugins: [stores.database, stores.kv], env: { CACHE_DRIVER: driver } }, async (host) => {
        assert.deepEqual(await get(host, '/health/ready'), [
          503,
          {
            status: 'not_ready',
            timestamp: now,
            environment: 'test',
            dependencies: { database: { status: 'unavailable', responseTime: 0 }, ...cache },
            error: 'database: connect ECONNREFUSED 10.0.0.7:3306',
          },
        ])
      })
    }
  })

  it('responds 503 when the cache is down, and reports the database as ready', () => {
    const stores = makeStores()
    stores.state.cache = 'down'
    return withHost({ plugins: [stores.database, stores.kv], env: { CACHE_DRIVER: 'kv' } }, async (host) => {
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual(
        [status, (body as { dependencies: object }).dependencies],
        [503, { database: ready, cache: { status: 'unavailable', responseTime: 0 } }],
      )
    })
  })

  for (const [environment, error] of [
    ['production', 'Service unavailable'],
    ['prod', 'database: connect ECONNREFUSED 10.0.0.7:3306'],
  ] as const) {
    it(`reports "${error}" in ${environment}`, () => {
      const stores = makeStores()
      stores.state.database = 'down'
      return withHost({ plugins: [stores.database], env: { NODE_ENV: environment } }, async (host) => {
        assert.equal(((await get(host, '/health/ready'))[1] as { error: string }).error, error)
      })
    })
  }

  it('is ready without a database plugin', () =>
    withHost({}, async (host) => {
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual(
        [status, (body as { dependencies: object }).dependencies],
        [200, { database: { status: 'unconfigured', responseTime: 0 } }],
      )
    }))

  it('stays ready with the option degrade only when the database fails after it has worked', async () => {
    const stores = makeStores()
    stores.state.database = 'down'
    await withHost({ plugins: [stores.database], options: { database: 'degrade' } }, async (host) => {
      assert.equal((await get(host, '/health/ready'))[0], 503)
      stores.state.database = 'up'
      assert.equal((await get(host, '/health/ready'))[0], 200)
      stores.state.database = 'down'
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual(
        [status, (body as { dependencies: object }).dependencies],
        [200, { database: { status: 'unavailable', responseTime: 0 } }],
      )
      assert.equal((await get(host, '/health'))[0], 503)
      assert.equal((await draft(host, '/health/ready')).body.status, 'warn')
    })
  })

  it('reuses a result for a second in production, and a failure for less', async () => {
    const stores = makeStores()
    const clock = fakeClock(Date.parse(now))
    const host = await createTestHost({ plugins: [stores.database, health()], env: { NODE_ENV: 'production' }, clock })
    const statusAfter = async (ms: number, database: 'up' | 'down'): Promise<number> => {
      stores.state.database = database
      clock.advance(ms)
      return (await get(host, '/health/ready'))[0]
    }
    assert.equal(await statusAfter(0, 'up'), 200)
    assert.equal(await statusAfter(999, 'down'), 200)
    assert.equal(await statusAfter(1, 'down'), 503)
    assert.equal(await statusAfter(249, 'up'), 503)
    assert.equal(await statusAfter(1, 'up'), 200)
    await host.stop()
  })

  it('is 503 while the app shuts down, without running checks, and liveness stays 200', async () => {
    const stores = makeStores()
    const during: { ready?: [number, unknown]; live?: number; startup?: number } = {}
    const witness = definePlugin({
      name: 'witness',
      version: '1.0.0',
      setup: (ctx) =>
        void ctx.hooks.on('onClose', async () => {
          stores.state.calls = []
          during.ready = await get(host, '/health/ready')
          during.live = (await get(host, '/health/live'))[0]
          during.startup = (await get(host, '/health/startup'))[0]
        }),
    })
    const host: TestHost = await createTestHost({ plugins: [stores.database, health(), witness()], clock: fakeClock(Date.parse(now)) })
    await get(host, '/health/ready')
    await host.stop()
    assert.deepEqual(during.ready, [
      503,
      { status: 'not_ready', timestamp: now, environment: 'test', dependencies: { database: ready }, error: 'The app is shutting down' },
    ])
    assert.deepEqual([during.live, during.startup, stores.state.calls], [200, 200, []])
  })
})

describe('checks of other plugins', () => {
  it('fail readiness when they are critical, and appear only in health+json', () => {
    const state = { fails: false }
    const check: HealthCheck = {
      name: 'mailer',
      kind: 'readiness',
      run: () => {
        if (state.fails) throw new Error('no mail server')
      },
    }
    return withHost({ plugins: [makeMember([check])] }, async (host) => {
      assert.deepEqual((await get(host, '/health/ready'))[0], 200)
      state.fails = true
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual(
        [status, body],
        [503, { ...(body as object), dependencies: { database: { status: 'unconfigured', responseTime: 0 } }, error: 'no mail server' }],
      )
      const shown = await draft(host, '/health/ready')
      assert.deepEqual([shown.status, shown.body.status, shown.body.output], [503, 'fail', 'no mail server'])
      assert.deepEqual(shown.body.checks['mailer:responseTime'], [
        {
          componentId: 'mailer',
          componentType: 'component',
          observedValue: 0,
          observedUnit: 'ms',
          status: 'fail',
          time: now,
          output: 'no mail server',
        },
      ])
      assert.equal((await get(host, '/health'))[0], 200)
    })
  })

  it('only warn when they are not critical, and are listed with the option showChecks', () => {
    const check: HealthCheck = { name: 'mailer', kind: 'readiness', critical: false, run: () => Promise.reject(new Error('slow')) }
    return withHost({ plugins: [makeMember([check])], options: { showChecks: true } }, async (host) => {
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual(
        [status, (body as { dependencies: Record<string, unknown> }).dependencies.mailer],
        [200, { status: 'unavailable', responseTime: 0 }],
      )
      assert.equal((await draft(host, '/health/ready')).body.status, 'warn')
    })
  })

  it('keep the startup probe at 503 until each of them has passed once', () => {
    const state = { runs: 0, up: false }
    const check: HealthCheck = {
      name: 'warm-up',
      kind: 'startup',
      run: () => {
        state.runs += 1
        if (!state.up) throw new Error('cold')
      },
    }
    return withHost({ plugins: [makeMember([check])] }, async (host) => {
      const [status, body] = await get(host, '/health/startup')
      assert.deepEqual([status, { ...(body as object), uptime: 1 }], [503, { status: 'starting', timestamp: now, uptime: 1 }])
      assert.equal((await get(host, '/health/ready'))[0], 200)
      state.up = true
      assert.equal((await get(host, '/health/startup'))[0], 200)
      state.up = false
      assert.equal((await get(host, '/health/startup'))[0], 200)
      assert.equal(state.runs, 2)
    })
  })

  it('run info checks only for health+json of /health', () => {
    const check: HealthCheck = { name: 'event-loop', kind: 'info', run: () => Promise.reject(new Error('late by 90 ms')) }
    return withHost({ plugins: [makeMember([check])] }, async (host) => {
      await get(host, '/health')
      assert.equal(host.logText().includes('late by 90 ms'), false)
      const { status, body } = await draft(host, '/health')
      assert.deepEqual([status, body.status, body.checks['event-loop:responseTime'][0].status], [200, 'warn', 'warn'])
    })
  })

  it('can be reports of the hook collectReadiness', () => {
    const state: { report: ReadinessReport } = { report: { ready: true, responseTime: 1 } }
    return withHost({ plugins: [makeMember([], () => state.report)] }, async (host) => {
      assert.equal((await get(host, '/health/ready'))[0], 200)
      state.report = { ready: false, responseTime: 1, error: 'queue is down' }
      const [status, body] = await get(host, '/health/ready')
      assert.deepEqual([status, (body as { error: string }).error], [503, 'member: queue is down'])
    })
  })

  it('name the plugin whose report is malformed, and count it as not ready', async () => {
    for (const report of [undefined, null, true, {}, { ready: 'yes' }]) {
      await withHost({ plugins: [makeMember([], () => report as unknown as ReadinessReport)] }, async (host) => {
        const [status, body] = await get(host, '/health/ready')
        assert.equal(status, 503)
        assert.match((body as { error: string }).error, /^member: its listener of collectReadiness must return/)
      })
    }
  })

  it('are refused with a name that is taken, reserved or malformed, and can be removed', () =>
    withHost({}, async (host) => {
      const checks = host.service(healthChecksService)
      const check: HealthCheck = { name: 'mailer', kind: 'readiness', run: () => Promise.reject(new Error('down')) }
      const remove = checks.register(check)
      assert.throws(() => checks.register(check), { code: 'HEALTH_CHECK_EXISTS' })
      for (const name of ['database', 'cache', 'plugins', 'Mailer', '', '__proto__', 'a b', 'x'.repeat(65)]) {
        assert.throws(() => checks.register({ ...check, name }), { code: 'HEALTH_CHECK_NAME_INVALID' })
      }
      assert.equal((await get(host, '/health/ready'))[0], 503)
      remove()
      remove()
      assert.equal((await get(host, '/health/ready'))[0], 200)
    }))
})

describe('every probe', () => {
  const paths = ['/health', '/health/live', '/health/ready', '/health/startup']

  it('responds to HEAD like to GET, without a body', () =>
    withHost({}, async (host) => {
      for (const path of paths) {
        const { status, text, headers } = await host.inject({ method: 'HEAD', path })
        assert.deepEqual([status, text, headers['cache-control']], [200, '', 'no-store'], path)
        assert.match(String(headers['content-type']), /^application\/json/)
      }
    }))

  it('responds with health+json when it is accepted, and hides error texts in production there, too', () => {
    const stores = makeStores()
    stores.state.database = 'down'
    return withHost({ plugins: [stores.database], env: { NODE_ENV: 'production' } }, async (host) => {
      for (const path of paths) {
        const { status, text, body, headers } = await draft(host, path)
        const fails = path === '/health' || path === '/health/ready'
        assert.deepEqual(
          [status, body.status, headers['content-type']],
          [fails ? 503 : 200, fails ? 'fail' : 'pass', 'application/health+json'],
          path,
        )
        assert.doesNotMatch(text, /ECONNREFUSED|10\.0\.0\.7/)
      }
    })
  })

  it('responds whatever the Host header is', () =>
    withHost({}, async (host) => {
      for (const path of paths) assert.equal((await host.inject({ path, headers: { host: 'evil.test' } })).status, 200, path)
    }))

  it('sends a body that matches its schema', () => {
    const stores = makeStores()
    return withHost({ plugins: [stores.database, stores.kv], env: { CACHE_DRIVER: 'kv' } }, async (host) => {
      for (const database of ['up', 'down'] as const) {
        stores.state.database = database
        for (const path of paths) {
          await get(host, path)
          await draft(host, path)
        }
      }
      assert.doesNotMatch(host.logText(), /does not match its schema|could not be validated/)
    })
  })
})

describePlugin(() => [], health, { readme: new URL('./README.md', import.meta.url) })

describe('readiness of an app whose SQLite file cannot grow', () => {
  const gibibyte = 2 ** 30

  it('is 503 while the disk is full, and 200 when there is space, or always with database: degrade', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-full-'))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const disk = smallDisk(dataDir, gibibyte)
    t.after(() => disk.restore())
    for (const mode of ['critical', 'degrade'] as const) {
      const host = await createTestHost({ plugins: [sqlite(), health({ showChecks: true, database: mode })], dataDir })
      try {
        const ready = async () => {
          const { body, status } = await host.inject({ path: '/health/ready' })
          return [status, body.dependencies['database-writes'].status, body.error]
        }
        assert.deepEqual(await ready(), [200, 'ready', undefined])
        disk.free = 2 ** 20
        const [status, writes, error] = await ready()
        assert.deepEqual([status, writes], [mode === 'critical' ? 503 : 200, 'unavailable'])
        if (mode === 'critical') assert.match(error, /^the disk of .*app\.db is full: 1048576 bytes are free$/)
        disk.free = gibibyte
        assert.deepEqual(await ready(), [200, 'ready', undefined])
      } finally {
        await host.stop()
      }
    }
  })

  it('is 503 after a write failed for lack of space that does not show, until one succeeds', async () => {
    const host = await createTestHost({ plugins: [sqlite(), health()] })
    try {
      const tables = host.service(databaseService).tables()
      const ready = async () => (await host.inject({ path: '/health/ready' })).status
      await sql`create table notes (text text)`.execute(tables)
      await sql`pragma max_page_count = 1`.execute(tables)
      const write = (length: number) =>
        tables
          .insertInto('notes')
          .values({ text: 'x'.repeat(length) })
          .execute()
      assert.equal(await ready(), 200)
      await assert.rejects(write(100_000), { code: 'SQLITE_FULL' })
      assert.equal(await ready(), 503)
      await sql`pragma max_page_count = 1000000`.execute(tables)
      assert.equal(await ready(), 503)
      await write(100_000)
      assert.equal(await ready(), 200)
    } finally {
      await host.stop()
    }
  })
})
