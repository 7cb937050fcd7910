import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Job } from 'bullmq'
import { complianceService } from 'zin/plugins/compliance'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import type { TestHost } from 'zin/testing'
import { eventually } from '../testing/eventually.js'
import { mysqlDatabase } from '../testing/mysql-database.js'
import { fillQueues, fillTables } from './fill.js'
import { countsIn, exportFrom, fileIn, importTo, type Place, recordsOf, startAt } from './moving.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

async function embedded(t: TestContext): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-move-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  return { dataDir, env: {} }
}

/** Empty servers. */
async function servers(t: TestContext): Promise<Place> {
  const { create, drop, env } = mysqlDatabase('move')
  await create()
  t.after(drop)
  return { ...(await embedded(t)), env: { ...env, REDIS_URL, APP_NAME: `moving-${randomUUID()}` } }
}

const kinds = { embedded, servers }

for (const [from, to] of [
  ['embedded', 'servers'],
  ['servers', 'embedded'],
] as const) {
  describe(`data moved from ${from} to ${to}`, () => {
    it('is the same after the way back, with jobs in every state, and works', { timeout: 120_000 }, async (t) => {
      const [first, second, third] = [await kinds[from](t), await kinds[to](t), await kinds[from](t)]
      const source = await startAt(first)
      try {
        await fillTables(source)
        await fillQueues(source)
        // As a producer with BullMQ alone may write it, to retry for ever.
        if (from === 'servers') {
          const foreign = source.service(queuesService).queue('foreign')
          await foreign.add('x', {}, { attempts: 10_000_000_000, delay: 3_600_000 })
        }
      } finally {
        await source.stop()
      }
      const said = await exportFrom(first, 'export.ndjson')
      assert.match(said, /1 job was running when the app ended; it waits again/)
      const imported = await importTo(second, fileIn(first, 'export.ndjson'))
      const full = await importTo(second, fileIn(first, 'export.ndjson')).catch((error: Error) => error.message)
      const line = (text: string, start: string): string => text.split('\n').find((one) => one.includes(start)) ?? ''
      const counts = countsIn(line(said, 'Records exported'))
      assert.ok((counts.database ?? 0) > 0 && (counts.queues ?? 0) > 0 && (counts.kv ?? 0) > 0, said)
      assert.deepEqual(countsIn(line(imported, 'Records imported')), counts)
      assert.deepEqual(countsIn(line(full, 'have data already')), counts)
      await exportFrom(second, 'export.ndjson')
      await importTo(third, fileIn(second, 'export.ndjson'))
      await exportFrom(third, 'export.ndjson')
      const [before, after] = [await recordsOf(fileIn(first, 'export.ndjson')), await recordsOf(fileIn(third, 'export.ndjson'))]
      assert.deepEqual(
        after,
        before.map((record) => withoutRan(record)),
      )

      const host = await startAt(second)
      t.after(() => host.stop())
      const { chains, fault } = await host.service(complianceService).verify()
      assert.deepEqual([fault, chains > 0], [undefined, true])
      await works(host)
    })
  })
}

function withoutRan(record: Record<string, unknown>): Record<string, unknown> {
  const { job } = record as { job?: { ran?: true } }
  if (job?.ran === undefined) return record
  const { ran: _, ...rest } = job
  return { ...record, job: rest }
}
/** What was moved goes on where it was. */
async function works(host: TestHost): Promise<void> {
  const queues = host.service(queuesService)
  const waiting = await queues.list('waiting', 'waiting', { offset: 0, limit: 20 })
  const names = waiting.map(({ id = '', name, opts }) => (name === 'urgent' ? `priority ${opts.priority}` : id))
  assert.deepEqual(names, ['lifo', ...[0, 1, 2, 3, 4].map((i) => `plain-${i}`), ...[1, 1, 2, 3].map((n) => `priority ${n}`)])
  assert.equal(await queues.queue('stopped').isPaused(), true)
  assert.deepEqual(await queues.restoredResult((await queues.job('ended', 'good-1'))?.job as Job), { done: 'good-1' })
  assert.deepEqual((await queues.logs('ended', 'good-1', { offset: 0, limit: 10 })).logs, ['line of good-1', 'second'])
  assert.deepEqual((await queues.schedules('planned')).map(({ key }) => key).toSorted(), ['nightly', 'often'])
  assert.deepEqual(
    (await queues.find('found', { 'customer.id': '4711' }, { limit: 5 })).jobs.map(({ job }) => job.id),
    ['order'],
  )
  const again = await queues.add('once', 'ttl', {}, { deduplication: { id: 'd-ttl', mode: 'ttl', ttl: 1000 } })
  assert.equal(again.deduplicated, true)

  const ran: unknown[] = []
  const workers = ['busy', 'grown', 'parents'].map((name) =>
    queues.worker(name, async (job: Job) => {
      ran.push(name === 'parents' ? Object.values(await job.getChildrenValues()).length : `${name} ${job.id} ${JSON.stringify(job.data)}`)
      return 1
    }),
  )
  await eventually('the jobs have run', () => Promise.resolve(ran.length === 6))
  await Promise.all(workers.map((worker) => worker.close()))
  const inBusy = ran.filter((one) => String(one).startsWith('busy'))
  assert.deepEqual(inBusy.toSorted(), ['busy next {"n":2}', 'busy plain-1 {"n":1}', 'busy plain-2 {"n":2}', 'busy runs {"n":1}'])
  // Of the parent, two children have ended with a result.
  assert.ok(ran.includes(2), String(ran))
  assert.equal(await host.service(kvService).get('counter'), '41')
  const row = await host
    .service(databaseService)
    .tables()
    .selectFrom('kinds')
    .selectAll()
    .where('id', '=', 'row-449')
    .executeTakeFirstOrThrow()
  assert.deepEqual(
    [row.big, [...row.bytes], Number(row.price), row.ratio, row.at],
    [2n ** 53n + 449n, [0, 193, 255], 449.25, 449 / 7, '2024-02-29 23:59:59.449'],
  )
  assert.equal((await host.service(workersService).get('mailer'))?.name, 'mailer')
}
