// The app whose data is in fixtures/360da2d.br, with today's code.
import assert from 'node:assert/strict'
import type { Job } from 'bullmq'
import { definePlugin } from 'zin'
import { bulletproof, cluster, compliance, database, jwt, kv, login, ops, queues, workerHealth, workers } from 'zin/plugins'
import { devicesService } from 'zin/plugins/bulletproof'
import { complianceService } from 'zin/plugins/compliance'
import { databaseService, defineMigration } from 'zin/plugins/database'
import { tokensService } from 'zin/plugins/jwt'
import { kvService } from 'zin/plugins/kv'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { createHeaders } from 'zin/signer'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../testing/eventually.js'
import { factsOf, oldKeys } from './fixtures/old-data.js'
import type { Place } from './moving.js'

const { deviceId, deviceSecret } = factsOf<{ readonly deviceId: string; readonly deviceSecret: string }>('360da2d')

/** Its migration fails where the table exists: the new version must know that the one before has run it. */
const orders = definePlugin({
  name: 'orders',
  version: '1.0.0',
  uses: { database: databaseService },
  setup(ctx) {
    ctx.migration(
      defineMigration({
        id: '0001_create_orders',
        up: (db) =>
          db.schema
            .createTable('orders')
            .addColumn('id', 'varchar(50)', (column) => column.primaryKey())
            .addColumn('body', 'text')
            .addColumn('cents', 'bigint', (column) => column.notNull())
            .execute(),
        down: (db) => db.schema.dropTable('orders').execute(),
      }),
    )
  },
})

const oldApp = () => [
  ...[database(), kv(), cluster(), queues(), jwt(), bulletproof(), login(), ops(), compliance(), workerHealth(), orders()],
  workers({ processors: { mailer: async () => 1, 'mailer@1.1.0': async () => 2, stopped: async () => 1, paused: async () => 1 } }),
]

/** The folder of its data, and where its servers are. */
export const oldPlace = (dataDir: string, env: Place['env'] = {}): Place => ({ dataDir, plugins: oldApp, env: { ...oldKeys, ...env } })

/** Starts it; without roles, nothing runs. */
export const startApp = ({ dataDir, env }: Place, roles?: readonly []): Promise<TestHost> =>
  createTestHost({
    plugins: oldApp(),
    dataDir,
    env: { ...env, WORKER_PERSISTENCE_DRIVER: 'db', WORKER_AUTO_START: 'true' },
    ...(roles && { roles }),
  })

/** The audit log of revision 7e7bb45 has no fault, goes on, and shows a changed entry. */
export async function keepsAudit(host: TestHost): Promise<void> {
  const audit = host.service(complianceService)
  const { entries, fault } = await audit.verify()
  assert.deepEqual([fault, entries >= factsOf<{ entries: number }>('7e7bb45').entries], [undefined, true])
  await host.service(workersService).update('mailer', { concurrency: 7 })
  const later = await audit.verify()
  assert.deepEqual([later.fault, later.entries > entries, later.chains >= 3], [undefined, true, true])
  const tables = host.service(databaseService).tables()
  const ended = await tables.selectFrom('zin_audit').select('id').where('action', '=', 'job.end').limit(1).executeTakeFirstOrThrow()
  await tables.updateTable('zin_audit').set({ actor: 'someone else' }).where('id', '=', ended.id).execute()
  assert.notEqual((await audit.verify()).fault, undefined)
}

/** Everything that the version before has stored, while nothing runs. */
export async function holdsAll(host: TestHost): Promise<void> {
  await holdsTables(host)
  await holdsQueues(host)
}

async function holdsTables(host: TestHost): Promise<void> {
  const tables = host.service(databaseService).tables()
  const rows = await tables.selectFrom('orders').selectAll().execute()
  assert.equal(rows.length, 20)
  const two = rows.find(({ id }) => id === 'order-2')
  assert.deepEqual([two?.body, Number(two?.cents)], ['ünï 🎈 2', 2 ** 40 + 2])
  const store = host.service(kvService)
  assert.deepEqual([await store.get('plain'), await store.get('expires'), await store.get('counter')], ['ünï 🎈', 'x', '41'])

  // The user logs in with the same password, the device signs with the secret that the old version sealed, the revocation is still there.
  const entered = await host.inject({
    method: 'POST',
    path: '/auth/login',
    body: { email: 'ann@example.com', password: oldKeys.DEMO_PASSWORD },
  })
  assert.equal(entered.status, 200, JSON.stringify(entered.body))
  const devices = await host.service(devicesService).list(String(await userId(host)))
  assert.ok(devices.some((device) => device.deviceId === deviceId))
  const { token } = await host.service(tokensService).issue({ sub: await userId(host), deviceId })
  const headers = await createHeaders({ method: 'GET', url: '/api/me', keyId: deviceId, secret: deviceSecret })
  const me = await host.inject({ method: 'GET', path: '/api/me', headers: { ...headers, authorization: `Bearer ${token}` } })
  assert.deepEqual([me.status, (me.body as { deviceId: string }).deviceId], [200, deviceId])

  const service = host.service(workersService)
  const { workers: listed } = await service.list({ includeInactive: true })
  const shown = listed.map(({ name, desired, desiredVersion, paused, concurrency }) => ({
    name,
    desired,
    desiredVersion,
    paused,
    concurrency,
  }))
  assert.deepEqual(
    shown.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ concurrency: _, ...one }) => one),
    [
      { name: 'mailer', desired: 'running', desiredVersion: '1.1.0', paused: false },
      { name: 'paused', desired: 'running', desiredVersion: '1.0.0', paused: true },
      { name: 'stopped', desired: 'stopped', desiredVersion: '1.0.0', paused: false },
    ],
  )
  assert.equal(shown.find(({ name }) => name === 'mailer')?.concurrency, 3)
  assert.deepEqual((await service.versions('mailer')).map(({ version }) => version).toSorted(), ['1.0.0', '1.1.0'])
  assert.deepEqual(
    (await service.schedules('mailer')).map(({ id }) => id),
    ['daily'],
  )
  const { count } = await tables
    .selectFrom('zin_worker_health')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  assert.ok(Number(count) > 0)
  const verified = await host.service(complianceService).verify()
  assert.equal(verified.fault, undefined)
}

async function userId(host: TestHost): Promise<string> {
  const { id } = await host.service(databaseService).tables().selectFrom('zin_users').select('id').executeTakeFirstOrThrow()
  return String(id)
}

async function holdsQueues(host: TestHost): Promise<void> {
  const service = host.service(queuesService)
  const none = { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0, waitingChildren: 0 }
  const counts = {
    ended: { completed: 3, failed: 1 },
    waiting: { waiting: 10 },
    later: { delayed: 3 },
    stopped: { waiting: 1 },
    once: { waiting: 1 },
    planned: { waiting: 1, delayed: 1 },
    parents: { waitingChildren: 1 },
    children: { completed: 1 },
    grown: { waiting: 1 },
  }
  for (const [name, expected] of Object.entries(counts)) {
    const found: Record<string, unknown> = { ...(await service.counts(name)) }
    assert.deepEqual(Object.fromEntries(Object.keys(none).map((state) => [state, found[state]])), { ...none, ...expected }, name)
  }
  const waiting = await service.list('waiting', 'waiting', { offset: 0, limit: 20 })
  assert.deepEqual(
    waiting.map(({ id = '', name, opts }) => (name === 'urgent' ? `priority ${opts.priority}` : id)),
    ['lifo', ...[0, 1, 2, 3, 4].map((i) => `plain-${i}`), ...[1, 1, 2, 3].map((n) => `priority ${n}`)],
  )
  assert.equal(await service.queue('stopped').isPaused(), true)
  const good = (await service.job('ended', 'good-1'))?.job as Job
  assert.deepEqual(await service.restoredData(good), { i: 1, text: 'ünï 🎈' })
  assert.deepEqual([await service.restoredResult(good), good.progress], [{ done: 'good-1' }, { percent: 50 }])
  assert.deepEqual((await service.logs('ended', 'good-1', { offset: 0, limit: 10 })).logs, ['line of good-1'])
  const bad = (await service.job('ended', 'bad'))?.job as Job
  assert.deepEqual([await service.restoredText('ended', bad.failedReason, 'error'), bad.attemptsMade], ['it fails', 2])
  assert.deepEqual((await service.schedules('planned')).map(({ key }) => key).toSorted(), ['nightly', 'often'])
  const again = await service.add('once', 'second', { n: 2 }, { deduplication: { id: 'one' } })
  assert.equal(again.id, 'holder')
}

/** What waited runs: also the job that ran when the app of the version before ended, and the parent of a flow. */
export async function worksOn(host: TestHost): Promise<void> {
  const service = host.service(queuesService)
  const ran: string[] = []
  const names = ['busy', 'grown', 'parents', 'waiting', 'once']
  const taking = names.map((name) =>
    service.worker(name, async (job: Job) => {
      ran.push(name === 'parents' ? `parent of ${Object.keys(await job.getChildrenValues()).length}` : `${name} ${job.id}`)
      return 1
    }),
  )
  await eventually('the jobs have run', () => Promise.resolve(ran.length === 14))
  await Promise.all(taking.map((worker) => worker.close()))
  for (const one of ['busy runs', 'grown waits', 'parent of 2', 'waiting lifo', 'once holder'])
    assert.ok(ran.includes(one), `${one} in ${ran.join(', ')}`)
  const workersOf = host.service(workersService)
  await eventually('the worker runs', async () => (await workersOf.status('mailer')).state === 'running')
  const { completed } = await workersOf.metrics('mailer')
  assert.equal(completed, 1)
  await workersOf.enqueue('mailer', { to: 'eve@example.com' })
  await eventually('its job has run', async () => (await workersOf.metrics('mailer')).completed === 2)
}
