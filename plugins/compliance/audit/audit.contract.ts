import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { definePlugin, deny, type NewManagementAction, type Plugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { decisions, decisionsService } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { type AuditEntry, compliance, complianceService } from '../index.js'

const adminKey = 'a key that may do everything'

type Work = () => Promise<unknown>

/** A key with an explicit permission to view payloads. */
export const payloadKey = 'a key that may see payloads'

/** An app whose plugin `desk` runs management actions on demand. */
export async function auditedApp(
  env: Readonly<Record<string, string>>,
  options: Parameters<typeof compliance>[0] = {},
  extra: readonly Plugin[] = [],
) {
  let manage: (action: NewManagementAction, work: Work) => Promise<unknown> = () => Promise.reject(new Error('not set up'))
  const desk = definePlugin({
    name: 'desk',
    version: '1.0.0',
    setup: (ctx) => {
      manage = (action, work) => ctx.manage(action, work)
    },
  })
  // Its gates run after those of the audit log.
  const lock = definePlugin({
    name: 'lock',
    version: '1.0.0',
    uses: { compliance: complianceService },
    setup({ hooks }) {
      hooks.on('beforeManagementAction', ({ action }) => (action === 'desk.lock' ? deny('it is locked') : undefined))
      hooks.on('beforeWorkerChange', ({ action }) => (action === 'pause' ? deny('it must run') : undefined))
    },
  })
  const fail = async (job: { data: unknown }): Promise<unknown> => {
    if (job.data === 'fail') throw new TypeError('a text with marker-4711')
    return 'marker-4711'
  }
  const host = await createTestHost({
    plugins: [
      database(),
      kv(),
      cluster(),
      queues(),
      ops(),
      decisions(),
      workers({ processors: { mails: fail } }),
      queueMonitor({
        apiKeys: {
          [payloadKey]: { permissions: ['read', 'payload:read'], queues: '*' },
          [adminKey]: { permissions: ['admin'], queues: '*' },
        },
      }),
      desk(),
      compliance(options),
      lock(),
      ...extra,
    ],
    env: { APP_KEY: 'k'.repeat(32), WORKER_ENCRYPTION: 'false', CLUSTER_NAME: `audit-${randomUUID().slice(0, 8)}`, ...env },
    listen: true,
  })
  return { host, manage: (action: NewManagementAction, work: Work = async () => undefined) => manage(action, work) }
}

/** The audit log in a database. */
export function auditContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`the audit log on ${title}`, () => {
    let app: Awaited<ReturnType<typeof auditedApp>>
    let host: TestHost
    before(async () => {
      app = await auditedApp(env())
      host = app.host
    })
    after(() => host.stop())
    const service = () => host.service(complianceService)
    const entries = async (query: Parameters<ReturnType<typeof service>['entries']>[0] = {}): Promise<readonly AuditEntry[]> =>
      (await service().entries(query)).entries
    const post = (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
      host.inject({ method: 'POST', path, body, headers })

    it('records actor, action, target, digests, reason, address and request of a management action, before and after it', async () => {
      const created = await post(
        '/api/workers',
        { name: 'mails', queueName: 'mails', jobOptions: { attempts: 1 } },
        { 'x-audit-reason': 'a new mail server' },
      )
      assert.equal(created.status, 201, JSON.stringify(created.body))
      const [done, asked] = await entries({ action: 'worker.create' })
      assert.equal(asked?.outcome, 'asked')
      assert.deepEqual(
        [done?.outcome, done?.actor, done?.via, done?.target, done?.reason, done?.requestId],
        ['done', 'local:local', 'http', 'worker:mails', 'a new mail server', created.headers['x-request-id']],
      )
      assert.equal(done?.before, null)
      assert.match(done?.after ?? '', /^[0-9a-f]{64}$/)
      assert.notEqual(done?.address, null)
    })

    it('records final outcomes of jobs, without payloads, results or error messages', async () => {
      await post('/api/workers/mails/start')
      const work = host.service(workersService)
      await work.enqueue('mails', 'marker-4711')
      await work.enqueue('mails', 'fail')
      await eventually('both outcomes', async () => (await entries({ action: 'job.end' })).length === 2)
      const ended = await entries({ action: 'job.end' })
      assert.deepEqual(ended.map(({ outcome }) => outcome).sort(), ['completed', 'failed'])
      assert.match(ended.find(({ outcome }) => outcome === 'failed')?.reason ?? '', /attempt 1, TypeError$/)
      assert.ok(ended.every(({ actor, target }) => actor === 'worker:mails' && target.startsWith('job:mails/')))
      assert.doesNotMatch(JSON.stringify(await entries({ limit: 500 })), /marker-4711/)
    })

    it('records the id of an added job as a searchable target, and the number and first jobs of a flow', async () => {
      const { id } = (await post('/api/workers/mails/jobs', { data: 1 }, { 'x-audit-reason': 'a test' })).body.job
      const [added] = await entries({ target: `job:mails/${id}`, action: 'job.add' })
      const [asked] = await entries({ target: 'worker:mails', action: 'job.add' })
      assert.deepEqual([added?.outcome, added?.reason, added?.ref, asked?.outcome], ['done', 'a test', asked?.id, 'asked'])
      const children = Array.from({ length: 11 }, () => ({ worker: 'mails', data: 1 }))
      const flow = (await post('/api/workers/mails/jobs', { data: 1, children })).body.job
      const [ofFlow] = await entries({ target: `job:mails/${flow.id}`, action: 'flow.add' })
      const named = [flow.id, ...flow.children.slice(0, 9).map((child: { id: string }) => child.id)].map((one) => `mails/${one}`)
      assert.equal(ofFlow?.reason, `12 jobs: ${named.join(', ')}, …`)
    })

    it('records the ids of jobs added to a queue, and of copies of jobs', async () => {
      const { id } = (await post('/api/queue/mails/jobs', { name: 'letter', data: 1 })).body
      const [added] = await entries({ target: `job:mails/${id}`, action: 'job.add' })
      assert.deepEqual([added?.outcome, added?.ref === null], ['done', false])
      const copy = (await post(`/api/jobs/${id}/duplicate?queue=mails`, {}, { 'x-api-key': adminKey })).body
      const [copied, asked] = await entries({ action: 'job.duplicate' })
      assert.deepEqual(
        [asked?.outcome, asked?.target, copied?.outcome, copied?.target],
        ['asked', `job:mails/${id}`, 'done', `job:mails/${copy.id}`],
      )
    })

    it('records no job outcomes of a worker with compliance: false, but actions on it', async () => {
      const work = host.service(workersService)
      await work.create({ name: 'quiet', queueName: 'quiet', processor: async () => 1, features: { compliance: false } })
      await work.start('quiet')
      const ends = async () => (await entries({ actor: 'worker:quiet' })).length
      const ended = (jobs: number) =>
        eventually('the job ends', async () => {
          await service().entries()
          return host.recorded('onAttemptEnd').filter(([end]) => (end as { worker: string }).worker === 'quiet').length === jobs
        })
      await work.enqueue('quiet', 1)
      await ended(1)
      assert.equal(await ends(), 0)
      assert.notEqual((await entries({ target: 'worker:quiet', action: 'worker.start' })).length, 0)
      await work.update('quiet', { features: { compliance: true } })
      await work.enqueue('quiet', 2)
      await ended(2)
      await eventually('it is recorded', async () => (await ends()) === 1)
      await work.remove('quiet')
    })

    it('accepts more concurrent actions than fit into one request to a proxy', async () => {
      const before = (await service().entries()).pagination.total
      const reason = 'ü'.repeat(400)
      await Promise.all(Array.from({ length: 600 }, (_, n) => app.manage({ action: 'desk.pile', target: `desk:pile-${n}`, reason })))
      assert.equal((await service().entries()).pagination.total, before + 1200)
      assert.equal(service().audit.downSince, null)
    })

    it('records actions of plugins through ctx.manage, including failed ones, with a reference to the first entry', async () => {
      await assert.rejects(
        app.manage({ action: 'desk.clear', target: 'desk:1', before: { papers: 3 } }, () => Promise.reject(new RangeError('no'))),
        RangeError,
      )
      const [failed, asked] = await entries({ target: 'desk:1' })
      assert.deepEqual([asked?.outcome, failed?.outcome, failed?.reason, failed?.ref], ['asked', 'failed', 'RangeError', asked?.id])
      assert.equal(failed?.actor, 'plugin:desk')
      assert.equal(failed?.before, asked?.before)
    })

    it('records actions refused by another plugin as failed', async () => {
      await assert.rejects(app.manage({ action: 'desk.lock', target: 'desk:2' }), { code: 'ACTION_DENIED' })
      const [failed, asked] = await entries({ target: 'desk:2' })
      assert.deepEqual([asked?.outcome, failed?.outcome, failed?.reason, failed?.ref], ['asked', 'failed', 'ACTION_DENIED', asked?.id])
    })

    it('records refused worker changes as failed, and each second entry refers to the first', async () => {
      const paused = await post('/api/workers/mails/pause')
      assert.deepEqual([paused.status, paused.body.code], [409, 'WORKER_CHANGE_DENIED'])
      const [failed, asked] = await entries({ action: 'worker.pause' })
      assert.deepEqual(
        [asked?.outcome, failed?.outcome, failed?.reason, failed?.ref],
        ['asked', 'failed', 'WORKER_CHANGE_DENIED', asked?.id],
      )
      await host.service(workersService).update('mails', { concurrency: 3 })
      const [done, before] = await entries({ action: 'worker.update', target: 'worker:mails' })
      assert.deepEqual([before?.outcome, done?.outcome, done?.ref], ['asked', 'done', before?.id])
    })

    it('records views of payloads', async () => {
      const { id } = await host.service(workersService).enqueue('mails', { secret: 'x' })
      const shown = await host.inject({ method: 'GET', path: `/api/jobs/${id}?include=payload&queue=mails` })
      assert.equal(shown.status, 200, JSON.stringify(shown.body))
      assert.equal((await entries({ action: 'payload.view' }))[0]?.target, `job:mails/${id}`)
    })

    it('is listed by page and filters, and refuses malformed filters', async () => {
      const list = (query: string) => host.inject({ method: 'GET', path: `/api/compliance/audit?${query}` })
      const first = await list('limit=1&target=worker:mails')
      const { entries: page, pagination } = first.body as { entries: AuditEntry[]; pagination: { total: number; totalPages: number } }
      assert.equal(page.length, 1)
      assert.ok(pagination.total >= 4 && pagination.totalPages === pagination.total)
      assert.equal((await list('since=2999-01-01')).body.entries.length, 0)
      const refused = await list('since=yesterday')
      assert.deepEqual([refused.status, refused.body.code], [400, 'INVALID_AUDIT_QUERY'])
      for (const empty of ['since=', 'until=']) assert.equal((await list(empty)).body.code, 'INVALID_AUDIT_QUERY', empty)
      assert.equal((await list('colour=red')).status, 400)
    })

    it('is intact, and the verification is recorded as an entry', async () => {
      const { body } = await post('/api/compliance/audit/verify')
      assert.deepEqual([body.intact, body.fault, body.chains], [true, null, 1])
      assert.equal((await entries({ action: 'audit.verify' }))[0]?.outcome, 'intact')
    })

    it('names the first entry that was altered, removed, swapped, or truncated', async () => {
      const db = host.service(databaseService).tables()
      for (let number = 0; number < 8; number++) await app.manage({ action: 'desk.sort', target: `desk:${number}` })
      await service().entries()
      const rows = await db.selectFrom('zin_audit').selectAll().orderBy('id').execute()
      const [a, b] = [rows[4], rows[6]] as [(typeof rows)[0], (typeof rows)[0]]
      const fault = async () => (await service().verify()).fault
      const replace = async (id: number, row: object): Promise<void> => {
        await db.deleteFrom('zin_audit').where('id', '=', id).execute()
        await db.insertInto('zin_audit').values(row).execute()
      }
      await db.updateTable('zin_audit').set({ actor: 'user:someone-else' }).where('id', '=', b.id).execute()
      assert.equal((await fault())?.id, Number(b.id))
      await replace(b.id, b)
      await db.deleteFrom('zin_audit').where('id', '=', a.id).execute()
      assert.equal((await fault())?.id, Number(a.id))
      await replace(a.id, { ...b, id: a.id })
      await replace(b.id, { ...a, id: b.id })
      assert.equal((await fault())?.id, Number(a.id))
      await replace(a.id, a)
      await replace(b.id, b)
      assert.equal(await fault(), undefined)
      await service().entries()
      const tail = await db.selectFrom('zin_audit').selectAll().orderBy('id', 'desc').limit(3).execute()
      const first = Number(tail.at(-1)?.id)
      await db.deleteFrom('zin_audit').where('id', '>=', first).execute()
      const cut = await service().verify()
      assert.equal(cut.fault?.id, first)
      assert.match(cut.fault?.problem ?? '', /missing/)
      await db.deleteFrom('zin_audit').where('id', '>=', first).execute()
      await db.insertInto('zin_audit').values(tail).execute()
    })

    it('names entries with ids that the log never gives, which it would list', async () => {
      const { dialect, tables } = host.service(databaseService)
      const db = tables()
      await app.manage({ action: 'desk.sort', target: 'desk:1' })
      await service().entries()
      const row = await db.selectFrom('zin_audit').selectAll().orderBy('id').executeTakeFirstOrThrow()
      // A primary key of SQLite may be null, or text.
      const ids = [
        '0',
        '-5',
        '-9000000000',
        '9007199254740993',
        '9223372036854775807',
        ...(dialect === 'sqlite' ? [null, 'x', 1e9 + 1.5] : []),
      ]
      const found = []
      for (const id of ids) {
        await db
          .insertInto('zin_audit')
          .values({ ...row, id, actor: 'user:innocent' })
          .execute()
        const { fault, faultCount, intact } = await service().verify()
        found.push(fault?.problem)
        // A fraction lies between two entries, so it also interrupts their chain.
        assert.ok(!intact && (faultCount === 1 || id === 1e9 + 1.5))
        await db.deleteFrom('zin_audit').where('actor', '=', 'user:innocent').execute()
      }
      assert.deepEqual(
        found,
        ids.map((id) => `an entry with the id ${id} was added: the log has no such ids`),
      )
      assert.equal((await service().verify()).fault, undefined)
    })

    it('names chains with numbers that the register never gives', async () => {
      const { dialect, tables } = host.service(databaseService)
      const db = tables()
      const { chain: _, ...row } = await db
        .selectFrom('zin_compliance_chains')
        .selectAll()
        .orderBy('chain', 'desc')
        .executeTakeFirstOrThrow()
      const ids = ['-1', '-7', '9007199', '9007199254740993', '9223372036854775807', ...(dialect === 'sqlite' ? [null, 'x', 0.5, 1.5] : [])]
      for (const chain of ids) {
        await db
          .insertInto('zin_compliance_chains')
          .values({ ...row, chain, node: 'innocent' })
          .execute()
        const { fault, faultCount } = await service().verify()
        await db.deleteFrom('zin_compliance_chains').where('node', '=', 'innocent').execute()
        assert.deepEqual([fault?.problem, faultCount], [`a chain with the number ${chain} was added: the log has no such numbers`, 1])
      }
      assert.equal((await service().verify()).fault, undefined)
    })

    it('names the register when any of its columns was changed', async () => {
      const { dialect, tables } = host.service(databaseService)
      const { sql } = await import('kysely')
      const db = tables()
      const register = () => db.updateTable('zin_compliance_chains').where('chain', '=', 0)
      const { chain: _, ...row } = await db.selectFrom('zin_compliance_chains').selectAll().where('chain', '=', 0).executeTakeFirstOrThrow()
      const missed: string[] = []
      for (const [column, value] of Object.entries(row)) {
        const isText = typeof value === 'string' && !/^\d{1,15}$/.test(value)
        const hidden = sql`${sql.ref(column)} || char(0) || 'hidden'`
        const changes = isText ? [`x${value.slice(1)}`, ...(dialect === 'sqlite' ? [hidden] : [])] : [Number(value) + 1]
        for (const change of changes) {
          await register()
            .set({ [column]: change })
            .execute()
          if ((await service().verify()).intact) missed.push(column)
          await register()
            .set({ [column]: value })
            .execute()
        }
      }
      assert.deepEqual(missed, [])
      assert.equal((await service().verify()).fault, undefined)
    })

    it('names an entry with a NUL in a text on SQLite, which a driver may hide, and filters compare', async () => {
      const { dialect, tables } = host.service(databaseService)
      if (dialect !== 'sqlite') return
      const { sql } = await import('kysely')
      await app.manage({ action: 'desk.sort', target: 'desk:1' })
      await service().entries()
      for (const column of ['action', 'target', 'actor', 'via', 'outcome']) {
        await sql`update zin_audit set ${sql.ref(column)} = ${sql.ref(column)} || char(0) || 'hidden' where action like 'desk.sort%'`.execute(
          tables(),
        )
        const { fault } = await service().verify()
        assert.match(fault?.problem ?? '', /^entry \d+ was altered: one of its texts contains the character NUL/, column)
        await sql`update zin_audit set ${sql.ref(column)} = substr(${sql.ref(column)}, 1, instr(${sql.ref(column)}, char(0)) - 1) where instr(cast(${sql.ref(column)} as blob), x'00') > 0`.execute(
          tables(),
        )
      }
      assert.equal((await service().verify()).fault, undefined)
    })

    it('names a number that SQLite stores as a text, which JavaScript reads as the same number and filters compare differently', async () => {
      const { dialect, tables } = host.service(databaseService)
      if (dialect !== 'sqlite') return
      const { sql } = await import('kysely')
      await app.manage({ action: 'desk.sort', target: 'desk:1' })
      await service().entries()
      const places = [
        ['zin_audit', 'id', ['at', 'ref']],
        ['zin_compliance_chains', 'chain', ['opened_at', 'entries', 'purged', 'counter']],
      ] as const
      for (const [table, key, columns] of places) {
        for (const row of await tables().selectFrom(table).selectAll().orderBy(key, 'desc').limit(2).execute()) {
          for (const column of columns.filter((one) => row[one] !== null)) {
            const set = (value: unknown) =>
              sql`update ${sql.ref(table)} set ${sql.ref(column)} = ${value} where ${sql.ref(key)} = ${row[key]}`
            for (const text of [`0x${Number(row[column]).toString(16)}`, `${row[column]}\u00a0`, 'x']) {
              await set(text).execute(tables())
              const { intact } = await host.service(complianceService).verify()
              assert.equal(intact, false, `${table}.${column} ${text}`)
              await set(row[column]).execute(tables())
            }
          }
        }
      }
      assert.equal((await service().verify()).fault, undefined)
    })

    it('is found to be set back together with the table of chains, because kv knows the last seal', async () => {
      const db = host.service(databaseService).tables()
      const rows = (table: string, key: string) => db.selectFrom(table).selectAll().orderBy(key).execute()
      await service().entries()
      const chains = await rows('zin_compliance_chains', 'chain')
      const last = Number((await rows('zin_audit', 'id')).at(-1)?.id)
      for (let number = 0; number < 3; number++) await app.manage({ action: 'desk.sort', target: `desk:${number}` })
      await service().entries()
      const [newer, tail] = [
        await rows('zin_compliance_chains', 'chain'),
        (await rows('zin_audit', 'id')).filter(({ id }) => Number(id) > last),
      ]
      const setChains = async (all: typeof chains): Promise<void> => {
        for (const { chain, ...row } of all) await db.updateTable('zin_compliance_chains').set(row).where('chain', '=', chain).execute()
      }
      await db.deleteFrom('zin_audit').where('id', '>', last).execute()
      await setChains(chains)
      const { body } = await post('/api/compliance/audit/verify')
      await setChains(newer)
      for (const row of tail) await db.insertInto('zin_audit').values(row).execute()
      assert.match(body.fault?.problem ?? '', /^chain 1 was set back to its seal \d+, over \d+ entries: kv knows its seal \d+/)
      assert.deepEqual([body.intact, body.faultCount], [false, 1])
      assert.equal((await service().verify()).fault, undefined)
      assert.deepEqual(
        service().audit.places.map(({ failingSince, place }) => [place, failingSince]),
        [['kv', null]],
      )
    })

    it('refuses management actions while it cannot be written; jobs keep running, and their outcomes are buffered', async () => {
      const db = host.service(databaseService)
      const rename = (from: string, to: string) => db.tables().schema.alterTable(from).renameTo(to).execute()
      const ends = (await entries({ action: 'job.end', limit: 500 })).length
      await rename('zin_audit', 'zin_hidden')
      let acted = false
      const refusal = await app
        .manage({ action: 'desk.burn', target: 'desk:1' }, async () => {
          acted = true
        })
        .catch((error: unknown) => error)
      assert.deepEqual([(refusal as { code: string }).code, acted], ['AUDIT_UNAVAILABLE', false])
      const stop = await post('/api/workers/mails/stop')
      assert.deepEqual([stop.status, stop.body.code], [503, 'AUDIT_UNAVAILABLE'])
      assert.equal((await host.service(workersService).get('mails')).state, 'running')
      await host.service(decisionsService).flush()
      const alerts = await host.service(decisionsService).list({ kind: 'alert' })
      assert.equal(alerts.decisions[0]?.verdict, 'raised')
      await rename('zin_hidden', 'zin_audit')
      await eventually('the log is written again', async () => {
        await app.manage({ action: 'desk.sort', target: 'desk:9' }).catch(() => undefined)
        return service().audit.downSince === null
      })
      assert.equal((await entries({ action: 'job.end', limit: 500 })).length, ends)
    })
  })
}
