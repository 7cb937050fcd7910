// Fills an app with data of every kind.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import { definePlugin } from 'zin'
import { devicesService } from 'zin/plugins/bulletproof'
import { databaseService, defineMigration } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import type { TestHost } from 'zin/testing'
import { eventually } from '../testing/eventually.js'

/** Jobs of every state, and everything around them. One is left running. */
export async function fillQueues(host: TestHost): Promise<void> {
  const queues = host.service(queuesService)
  const data = { text: 'ünï"\\n🎈', big: 1e300, nested: { list: [1, null, true, {}] }, zero: 0.1 }
  // Completed and failed, with progress, logs and attempts.
  const worker = queues.worker('ended', async (job: Job) => {
    await job.log(`line of ${job.id}`)
    await job.log('second')
    await job.updateProgress({ percent: 50 })
    if (job.name === 'bad') throw new Error('it fails')
    return { done: job.id }
  })
  for (let i = 0; i < 3; i++) await queues.add('ended', 'good', { ...data, i }, { jobId: `good-${i}`, subject: 'ann' })
  await queues.add('ended', 'bad', data, { jobId: 'bad', attempts: 2, backoff: 1 })
  await eventually('the jobs have ended', async () => {
    const { completed, failed } = await queues.counts('ended')
    return completed === 3 && failed === 1
  })
  await worker.close()
  for (let i = 0; i < 5; i++) await queues.add('waiting', 'plain', { i }, { jobId: `plain-${i}` })
  await queues.add('waiting', 'first', {}, { jobId: 'lifo', lifo: true })
  for (const priority of [3, 1, 2, 1]) await queues.add('waiting', 'urgent', { priority }, { priority })
  for (const delay of [3_600_000, 60_000, 3_600_000])
    await queues.add('later', 'delayed', { delay }, { delay, attempts: 5, backoff: { type: 'exponential', delay: 100 } })
  await queues.add('stopped', 'held', data)
  await queues.queue('stopped').pause()
  await queues.queue('stopped').setGlobalConcurrency(3)
  for (const mode of ['until-done', 'ttl', 'keep-latest', 'debounce'] as const)
    await queues.add(
      'once',
      mode,
      { mode },
      { deduplication: { id: `d-${mode}`, mode, ...((mode === 'ttl' || mode === 'debounce') && { ttl: 3_600_000 }) } },
    )
  await queues.add('found', 'order', { customer: { id: '4711' } }, { jobId: 'order' })
  await queues.schedule(
    'planned',
    'nightly',
    { pattern: '30 2 * * *', tz: 'Europe/Berlin', overlap: 'skip', catchUp: 'one' },
    { name: 'report', data },
  )
  await queues.schedule('planned', 'often', { every: 3_600_000 }, { name: 'tick', data: {} })
  // A flow of which one child has ended, one was ignored and one waits.
  const children = queues.worker('children', async (job: Job) => {
    if (job.name === 'no') throw new Error('ignored')
    return { value: job.id }
  })
  await queues.addFlow({
    name: 'parent',
    queueName: 'parents',
    data,
    opts: { jobId: 'parent' },
    children: [
      { name: 'yes', queueName: 'children', data: {}, opts: { jobId: 'yes' } },
      { name: 'no', queueName: 'children', data: {}, opts: { jobId: 'no', ignoreDependencyOnFailure: true } },
      { name: 'wait', queueName: 'grown', data: {}, opts: { jobId: 'waits', failParentOnFailure: true } },
    ],
  })
  await eventually('two children have ended', async () => {
    const { completed, failed } = await queues.counts('children')
    return completed === 1 && failed === 1
  })
  await children.close()
  // A job that was running when the app ended, and one that is to run after it.
  const taker = queues.worker('busy', async () => undefined, { autorun: false })
  for (const n of [1, 2]) await queues.add('busy', 'plain', { n }, { jobId: `plain-${n}` })
  await queues.add('busy', 'runs', { n: 1 }, { jobId: 'runs', lifo: true, deduplication: { id: 'latest', mode: 'keep-latest' } })
  await taker.getNextJob('token', { block: false })
  await queues.add('busy', 'runs', { n: 2 }, { jobId: 'next', deduplication: { id: 'latest', mode: 'keep-latest' } })
  await taker.close(true)
}

/** Keys, devices, users, webhooks, workers with versions, an audit log, and a table with values of every type. */
export async function fillTables(host: TestHost): Promise<void> {
  const kv = host.service(kvService)
  await kv.set('plain', 'ünï 🎈')
  await kv.set('expires', 'x', { ttlMs: 3_600_000 })
  await kv.increment('counter', { by: 41 })
  await kv.set(`long:${'k'.repeat(2000)}`, 'v'.repeat(100_000))
  await host.service(devicesService).enroll({ userId: 'u1', label: 'phone' })
  const workers = host.service(workersService)
  await workers.create({ name: 'mailer', queueName: 'mails', processor: async () => 1 })
  const webhook = await host.inject({
    method: 'POST',
    path: '/api/queue/webhooks',
    headers: { 'x-requested-with': 'test' },
    body: { url: 'https://example.com/hook', events: ['job.failed'] },
  })
  assert.equal(webhook.status, 201, JSON.stringify(webhook.body))
  const tables = host.service(databaseService).tables()
  const user = { id: randomUUID(), email: 'ann@example.com', password_hash: 'x', role: 'admin', created_at: Date.now() }
  await tables.insertInto('zin_users').values(user).execute()
  for (let i = 0; i < 450; i++) {
    await tables
      .insertInto('kinds')
      .values({
        id: `row-${i}`,
        part: i % 3,
        big: 2n ** 53n + BigInt(i),
        bytes: Buffer.from([0, i % 256, 255]),
        price: `${i}.25`,
        ratio: i / 7,
        body: i % 2 === 0 ? null : `text ${i} ü 🎈 "'\\`,
        at: `2024-02-29 23:59:59.${String(i).padStart(3, '0')}`,
      })
      .execute()
  }
}

/** A plugin with a table of its own, about which nothing else knows. */
export const kinds = definePlugin({
  name: 'kinds',
  version: '1.0.0',
  uses: { database: databaseService },
  setup(ctx) {
    ctx.migration(
      defineMigration({
        id: '0001_create_kinds',
        up: (db) =>
          db.schema
            .createTable('kinds')
            .ifNotExists()
            .addColumn('id', 'varchar(50)', (column) => column.notNull())
            .addColumn('part', 'integer', (column) => column.notNull())
            .addColumn('big', 'bigint')
            .addColumn('bytes', 'varbinary(20)' as 'blob')
            .addColumn('price', 'decimal(20, 5)')
            .addColumn('ratio', 'double precision')
            .addColumn('body', 'text')
            .addColumn('at', 'datetime(3)')
            .addPrimaryKeyConstraint('kinds_key', ['part', 'id'])
            .execute(),
        down: (db) => db.schema.dropTable('kinds').ifExists().execute(),
      }),
    )
  },
})
