import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppClient, type CommandContext, ZinError } from 'zin'
import { eventually } from '../../scripts/testing/eventually.js'
import { queueMonitorCommands } from './cli.js'
import type { JobDetails } from './contract.js'
import { type MonitoredApp, monitoredApp } from './testing/app.js'
import { webhookCommands } from './webhooks/cli.js'

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`

describe('the queue commands', () => {
  let app: MonitoredApp
  const run = async (
    name: string,
    args: object = {},
    options: object = {},
    more: { json?: boolean; aborted?: boolean; onLine?: (line: string) => void } = {},
  ) => {
    const { json = false, aborted = false, onLine = () => undefined } = more
    const told = { lines: [] as string[], tables: [] as unknown[], bars: [] as string[], confirmed: [] as string[] }
    const client: AppClient = {
      baseUrl: '',
      authorize: async () => undefined,
      async request({ body, method, path, query = {} }) {
        // If the command is aborted, the operation is still running when the first response arrives.
        const asked = aborted && 'wait' in query ? { ...query, wait: 0 } : query
        const given = Object.entries(asked).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]))
        const full = given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
        const answer = await app.call(method, full, body === undefined ? {} : { body })
        if (answer.status >= 300) throw new ZinError(answer.body.code, answer.body.message, { status: answer.status })
        return answer.body
      },
    }
    const print = {
      json,
      line(text = '') {
        told.lines.push(text)
        onLine(text)
      },
      error: (text: string) => void told.lines.push(text),
      table: (rows: readonly object[]) => void told.tables.push(...rows),
      record: (value: object) => void told.tables.push(value),
      progress: (what: string) => ({
        update: (done: number, total: number) => void told.bars.push(`${what} ${done}/${total}`),
        end: () => void told.bars.push('end'),
      }),
    }
    const command = [...queueMonitorCommands, ...webhookCommands].find((one) => one.name === name)
    assert.ok(command, name)
    const declared = Object.entries((command.options ?? {}) as Record<string, { default?: unknown; type: string }>)
    const defaults = Object.fromEntries(declared.map(([key, { default: value, type }]) => [key, type === 'boolean' ? false : value]))
    const confirm = async (loss: string) => void told.confirmed.push(loss)
    const signal = aborted ? AbortSignal.abort() : new AbortController().signal
    const context = { app: client, args, options: { ...defaults, ...options }, print, confirm, signal }
    return { ...told, code: await command.run(context as unknown as CommandContext) }
  }
  const failed = async (queue: string, count: number): Promise<readonly string[]> => {
    const jobs = await app.queues.addBulk(
      queue,
      Array.from({ length: count }, (_, n) => ({ name: `f${n}`, data: { n, token: 't' } })),
    )
    for (const { id } of jobs) await app.queues.fail(queue, id ?? '', 'planted')
    return jobs.map(({ id }) => id ?? '')
  }

  before(async () => {
    app = await monitoredApp({}, { monitor: { interval: 60_000, webhookSecret: secret } })
  })
  after(() => app.host.stop())

  it('search jobs and report the coverage', async () => {
    const { id } = await app.queues.add('mails-b', 'sought', { customer: { id: 'c-9' } })
    const byName = await run('queue:search', { text: 'name:sought' })
    assert.deepEqual([(byName.tables[0] as JobDetails).id, byName.lines], [id, ['searched all 1']])
    const byField = await run('queue:search', { text: 'data.customer.id:c-9' }, { queue: 'mails-b' })
    assert.deepEqual([byField.tables.length, byField.lines], [1, ['searched the index of customer.id']])
    assert.deepEqual((await run('queue:search', { text: 'data.customer.id:none' }, {}, { json: true })).tables, [
      { jobs: [], searched: { jobs: 0, of: 0, complete: true, queues: 1, fields: ['customer.id'], since: null } },
    ])
  })

  it('show the end of a log, and follow it until the job has ended', async () => {
    const { id = '' } = await app.queues.add('logged', 'x', {})
    let end: () => void = () => undefined
    const worker = app.queues.worker('logged', async (job) => {
      for (let n = 0; n < 3; n++) await job.log(`line ${n}`)
      await new Promise<void>((resolve) => (end = resolve))
      await job.log('the last line')
    })
    await eventually('it has logged', async () => (await app.queues.logs('logged', id, { offset: 0, limit: 9 })).count === 3)
    assert.deepEqual((await run('queue:logs', { id: `logged:${id}` }, { lines: 2 })).lines, ['line 1', 'line 2'])
    const onLine = (line: string) => line === 'line 2' && end()
    const following = await run('queue:logs', { id }, { lines: 2, follow: true }, { onLine })
    assert.deepEqual(following.lines, ['line 1', 'line 2', 'the last line'])
    await worker.close()
    assert.deepEqual((await run('queue:logs', { id }, { follow: true, lines: 1 })).lines, ['the last line'])
    await assert.rejects(run('queue:logs', { id: 'nobody' }), { code: 'JOB_NOT_FOUND' })
  })

  it('show queues, statistics and jobs, as text and as JSON', async () => {
    const [id = ''] = await failed('shown', 2)
    const rows = (await run('queue:list')).tables as { name: string; failed: number }[]
    assert.deepEqual(
      rows.filter(({ name }) => name === 'shown').map((row) => row.failed),
      [2],
    )
    assert.equal(((await run('queue:stats', { queue: 'shown' })).tables[0] as { failed: number }).failed, 2)
    const [all] = (await run('queue:stats')).tables as { queues?: object; failedJobs: number }[]
    assert.deepEqual([all?.failedJobs, all?.queues], [2, undefined])
    assert.ok('queues' in ((await run('queue:stats', {}, {}, { json: true })).tables[0] as object))
    const page = await run('queue:jobs', { queue: 'shown' }, { limit: 1 })
    assert.equal(page.tables.length, 1)
    assert.deepEqual(page.lines, ['page 1 of 2, 2 jobs: use --page and --limit'])
    const [job] = (await run('queue:job', { id: `shown:${id}` }, { payload: true })).tables as JobDetails[]
    assert.deepEqual(job?.payload, { n: 0, token: '[redacted]' })
  })

  it('retry a whole flow, after a dry run', async () => {
    const failParentOnFailure = true
    await app.queues.addFlow({
      name: 'root',
      queueName: 'tree',
      opts: { jobId: 'root' },
      children: [{ name: 'leaf', queueName: 'tree', opts: { jobId: 'leaf', failParentOnFailure } }],
    })
    await app.queues.fail('tree', 'leaf', 'planted')
    await app.queues.fail('tree', 'root', 'planted')
    const dry = await run('queue:retry-flow', { id: 'tree:leaf' }, { 'dry-run': true })
    assert.deepEqual([dry.code, dry.lines], [0, ['2 jobs would be retried', 'tree:leaf', 'tree:root']])
    const done = await run('queue:retry-flow', { id: 'leaf' }, { queue: 'tree' })
    assert.deepEqual([done.code, done.lines], [0, ['flow.retry of queue tree completed: 2 jobs']])
    assert.deepEqual((await app.queues.counts('tree')).waitingChildren, 1)
  })

  it('retry, cancel and purge, with a dry run and a summary', async () => {
    await failed('acted', 3)
    const dry = await run('queue:retry', { queue: 'acted' }, { 'dry-run': true })
    assert.deepEqual([dry.code, dry.lines, dry.tables.length], [0, ['3 jobs match'], 3])
    const retried = await run('queue:retry', { queue: 'acted' })
    assert.deepEqual([retried.code, retried.lines], [0, ['retry of queue acted completed: 3 jobs']])
    const cancelled = await run('queue:cancel', { queue: 'acted' }, {}, { json: true })
    assert.deepEqual([(cancelled.tables[0] as { changed: number }).changed, cancelled.lines], [3, []])
    await failed('acted', 2)
    const purged = await run('queue:purge', { queue: 'acted' }, { status: 'all' })
    assert.deepEqual(purged.confirmed, ['This deletes jobs of the queue acted: 2 jobs match. This can be undone for 10 minutes'])
    const [said, restorable = ''] = purged.lines
    assert.equal(said, 'purge of queue acted completed: 2 jobs')
    const [, operation = ''] = /^2 can be restored until \S+: zin queue:undo (\S+)$/.exec(restorable) ?? assert.fail(restorable)
    assert.deepEqual((await run('queue:undo', { operation })).lines, ['undo of queue acted completed: 2 jobs'])
    const final = await run('queue:purge', { queue: 'acted' }, { status: 'all', now: true })
    assert.deepEqual(
      [final.confirmed, final.lines],
      [['This permanently deletes jobs of the queue acted: 2 jobs match'], ['purge of queue acted completed: 2 jobs']],
    )
    assert.deepEqual((await run('queue:purge', { queue: 'acted' }, { status: 'failed' })).lines, [
      'purge of queue acted completed: no jobs matched',
    ])
  })

  it('show the progress of long operations, and cancel them with Ctrl-C', async () => {
    await app.queues.addBulk(
      'long',
      Array.from({ length: 1_500 }, () => ({ name: 'x' })),
    )
    const cancelled = await run('queue:cancel', { queue: 'long' }, {}, { aborted: true })
    assert.equal(cancelled.code, 1)
    assert.match(cancelled.lines[0] ?? '', /^cancel of queue long cancelled: \d+ jobs$/)
    assert.match(cancelled.bars[0] ?? '', /^cancel of queue long \d+\/1500$/)
    assert.equal(cancelled.bars.at(-1), 'end')
  })

  it('pause and resume a queue, copy a job, and prune failed jobs', async () => {
    assert.deepEqual((await run('queue:pause', { queue: 'shown' })).lines, ['queue shown is paused'])
    assert.deepEqual((await run('queue:resume', { queue: 'shown' }, {}, { json: true })).tables, [
      { ok: true, queue: 'shown', paused: false },
    ])
    const [{ id }] = (await app.call('GET', '/api/jobs/failed?queue=shown')).body.jobs
    const copied = await run('queue:duplicate', { id }, { queue: 'shown', data: '{"n":9,"token":"[redacted]"}' }, { json: true })
    const copy = (await app.queues.job('shown', (copied.tables[0] as { id: string }).id)) ?? assert.fail('the copy is stored')
    assert.deepEqual(await app.queues.restoredData(copy.job), { n: 9, token: 't' })
    await assert.rejects(run('queue:duplicate', { id }, { queue: 'shown', data: '{n' }), { code: 'INVALID_JOB_DATA' })
    assert.deepEqual((await run('queue prune')).lines, ['Deleted 0 failed jobs that ended more than 168 h ago'])
    const pruned = (await run('queue prune', {}, { hours: 0 }, { json: true })).tables as { queue: string; deleted: number }[]
    assert.equal(
      pruned.reduce((sum, { deleted }) => sum + deleted, 0),
      2,
    )
  })

  it('add, list, enable, disable and remove webhook endpoints', async () => {
    const added = await run(
      'webhook:add',
      { url: 'https://hooks.example.com/x?key=1' },
      { events: 'job.failed, queue.alert', queues: 'shown' },
    )
    const [{ id, target }] = added.tables as [{ id: string; target: string }]
    assert.equal(target, 'https://hooks.example.com/…')
    assert.equal(((await run('webhook:disable', { id })).tables[0] as { enabled: boolean }).enabled, false)
    assert.equal(((await run('webhook:enable', { id })).tables[0] as { enabled: boolean }).enabled, true)
    assert.deepEqual((await run('webhook:list')).tables.length, 1)
    assert.deepEqual((await run('webhook:deliveries')).tables, [])
    assert.deepEqual((await run('webhook:remove', { id })).tables, [{ ok: true, id }])
    await assert.rejects(run('webhook:resend', { id: 'none' }), { code: 'DELIVERY_NOT_FOUND' })
  })

  it('fail with the code and the message of the app', async () => {
    await assert.rejects(run('queue:stats', { queue: 'nobody' }), { code: 'QUEUE_NOT_FOUND', message: /Queue "nobody" does not exist/ })
    await assert.rejects(run('queue:job', { id: 'nothing' }), { code: 'JOB_NOT_FOUND' })
    await assert.rejects(run('queue:pause', { queue: 'nobody' }), { code: 'QUEUE_NOT_FOUND' })
  })
})
