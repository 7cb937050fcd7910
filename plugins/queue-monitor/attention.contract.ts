import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { type CommandContext, ZinError } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { workersService } from 'zin/plugins/workers'
import { eventually } from '../../scripts/testing/eventually.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { attentionCommands } from './attention/cli.js'
import type { AttentionItem, AttentionList } from './attention/item.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'
import { Receiver } from './testing/receiver.js'

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
/** Kinds of items that the test causes, with what their sentences say. */
const expected: Readonly<Record<string, RegExp>> = {
  'no-live-node': /No live node runs the worker "far", which should run; 300 jobs wait, the oldest for .*start a process/,
  'worker-failed': /The worker "failing" has failed and takes no jobs until it is restarted: out of licences/,
  'rollout-halted': /The rollout of version 2\.0\.0 of "mailer-a" is halted .*broken at import/,
  'worker-paused': /The worker "resting" is paused and takes no jobs/,
  'queue-paused': /The queue "mails-b" is paused, so that none of its jobs run; 1 job waits/,
  'schedule-overdue': /The schedule "night" of the queue "nightly" was due .* ago, at .*, and has not run/,
  'schedule-failed': /The last run of the schedule "hourly" of the worker "failing-job" failed at/,
  'webhook-failing':
    /does not reach http:\/\/127\.0\.0\.1:\d+\/…: 1 delivery failed after all attempts\. The last error: The receiver responded with 500/,
  'audit-unwritable': /The audit log cannot be written: management actions are refused/,
}
const kinds = Object.keys(expected).sort()

/** What needs attention, for each store. */
export function attentionContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`what needs attention on ${title}`, () => {
    let app: MonitoredApp
    let receiver: Receiver
    const list = async (key?: string, query = ''): Promise<AttentionList> => {
      const { body, status } = await app.call('GET', `/api/attention${query}`, key === undefined ? {} : { key })
      assert.deepEqual([status, body.ok], [200, true])
      return body
    }
    const causedOnly = (items: readonly AttentionItem[]): readonly AttentionItem[] => items.filter(({ kind }) => kind in expected)
    const kindsOf = (items: readonly AttentionItem[]): readonly string[] =>
      causedOnly(items)
        .map(({ kind }) => kind)
        .sort()
    const told = (event: string): readonly string[] =>
      receiver
        .at('/attention')
        .filter(({ body }) => body.event === event && body.data.kind in expected)
        .map(({ body }) => body.data.kind)
        .sort()
    const audit = async (from: string, to: string): Promise<void> => {
      await sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(app.host.service(databaseService).tables())
    }
    /** Runs a command against the app. */
    const run = async (name: string, args: object, json = false) => {
      const lines: string[] = []
      const records: unknown[] = []
      const client = {
        baseUrl: '',
        async request({ body, method, path }: { readonly body?: unknown; readonly method: string; readonly path: string }) {
          const answer = await app.call(method, path, body === undefined ? {} : { body })
          if (answer.status >= 300) throw new ZinError(answer.body.code, answer.body.message, { status: answer.status })
          return answer.body
        },
      }
      const print = { json, line: (text = '') => void lines.push(text), record: (value: object) => void records.push(value) }
      const context = { app: client, args, options: {}, print } as unknown as CommandContext
      const code = await attentionCommands.find((one) => one.name === name)?.run(context)
      return { code, text: lines.join('\n'), records }
    }

    before(async () => {
      receiver = await Receiver.open()
      app = await monitoredApp(
        { ...env(), WORKER_AUDIT_LOG: 'true' },
        {
          monitor: {
            interval: 1000,
            alerts: {
              queueSize: false,
              processingTime: false,
              failureRate: false,
              attention: { action: 'slack', webhook: receiver.url('/slack') },
            },
            webhookSecret: secret,
            webhooks: [{ url: receiver.url('/attention'), events: ['attention.raised', 'attention.cleared'] }],
            delivery: { retries: [1], allowPrivate: true, timeout: 300 },
          },
        },
      )
    })
    after(async () => {
      await app?.host.stop()
      await receiver.close()
    })

    it('is nothing in an app without problems', async () => {
      await eventually('it has been checked', async () => {
        const { items, notChecked } = await list()
        return items.length === 0 && notChecked.length === 0
      })
      assert.deepEqual(await run('status', {}), { code: 0, text: 'Nothing needs attention', records: [] })
    })

    it('is listed, told and shown with its cause, and goes when its cause has gone', async () => {
      const { host, queues } = app
      const workers = host.service(workersService)
      const files = { 'broken.mjs': "throw new Error('broken at import')", 'fails.mjs': "export default () => { throw new Error('no') }" }
      await writeProcessors(host.rootDir, files)
      const placement = { nodes: 'all', regions: ['nowhere'] } as const
      await workers.create({ name: 'far', queueName: 'far', processor: () => 1, placement }, { waitMs: 0 })
      await workers.start('far', { waitMs: 0 })
      await queues.addBulk(
        'far',
        Array.from({ length: 300 }, () => ({ name: 'x' })),
      )
      await workers.create({ name: 'failing', queueName: 'failing', processor: () => 1 })
      await workers.local.fail('failing', new Error('out of licences'))
      await workers.registerVersion('mailer-a', { version: '2.0.0', processor: 'broken.mjs' })
      await workers.activate('mailer-a', '2.0.0').catch(() => undefined)
      await workers.create({ name: 'resting', queueName: 'resting', processor: () => 1 })
      await workers.pause('resting')
      await queues.add('mails-b', 'x', {})
      assert.equal((await app.call('POST', '/api/queue/mails-b/pause')).status, 200)
      await queues.schedule('nightly', 'night', { every: 3_600_000 }, { name: 'x' })
      await workers.create({ name: 'failing-job', queueName: 'failing-job', processor: 'fails.mjs' })
      await workers.schedule('failing-job', 'hourly', { every: 3_600_000, options: { attempts: 1 } })
      receiver.answer('/dead', (response) => response.writeHead(500).end())
      const dead = await app.call('POST', '/api/queue/webhooks', {
        body: { url: receiver.url('/dead'), queues: ['mails-a'], events: ['job.completed'] },
      })
      assert.equal(dead.status, 201, JSON.stringify(dead.body))
      await queues.add('mails-a', 'good', {})
      await audit('zin_audit', 'zin_audit_away')

      await eventually('all are listed', async () => kindsOf((await list()).items).length === kinds.length)
      const found = causedOnly((await list()).items)
      assert.deepEqual(kindsOf(found), kinds)
      for (const { act, bar, cause, count, id, kind, since, subject } of found) {
        assert.match(cause, expected[kind] ?? /^$/)
        assert.match(id, /^at_[0-9a-f]{20}$/)
        assert.match(subject, /^[a-z]+:./)
        assert.ok(act.label !== '' && /^\/(console|api)\//.test(act.href), act.href)
        assert.ok(Date.parse(since) <= Date.now() && count >= 1 && bar.length === 24 && (bar.at(-1) ?? 0) + (bar.at(-2) ?? 0) >= 1, kind)
      }
      assert.equal(found.find(({ kind }) => kind === 'no-live-node')?.count, 300)
      await eventually('all are told', () => told('attention.raised').length === kinds.length)
      assert.deepEqual(told('attention.raised'), kinds)
      const inSlack = () => receiver.at('/slack').find(({ body }) => body.text.includes('worker:failing:'))?.body.text
      await eventually('Slack is told', () => inSlack() !== undefined)
      assert.match(inSlack(), /^:rotating_light: worker:failing: worker-failed raised: The worker "failing" has failed and takes no jobs/)
      const status = await run('status', {})
      assert.equal(status.code, 1)
      for (const [kind, words] of Object.entries(expected)) assert.match(status.text, words, kind)
      const [asJson] = (await run('status', {}, true)).records as [AttentionList]
      assert.deepEqual(kindsOf(asJson.items), kinds)

      await audit('zin_audit_away', 'zin_audit')
      await eventually('the audit log can be written', async () => !kindsOf((await list()).items).includes('audit-unwritable'))
      await workers.stop('far')
      await workers.restart('failing')
      await workers.activate('mailer-a', '1.0.0')
      await workers.resume('resting')
      assert.equal((await app.call('POST', '/api/queue/mails-b/resume')).status, 200)
      await queues.queue('nightly').removeJobScheduler('night')
      await workers.unschedule('failing-job', 'hourly')
      assert.equal((await app.call('DELETE', `/api/queue/webhooks/endpoints/${dead.body.webhook.id}`)).status, 200)
      await eventually('all have gone', async () => kindsOf((await list()).items).length === 0)
      await eventually('all are told', () => told('attention.cleared').length === kinds.length)
      assert.deepEqual([told('attention.cleared'), told('attention.raised')], [kinds, kinds])
    })

    it('shows credentials for queues only what concerns their queues, and says so', async () => {
      for (const queue of ['mails-a', 'mails-b']) await app.queues.queue(queue).pause()
      const paused = async (key?: string) =>
        (await list(key)).items.flatMap(({ kind, queue }) => (kind === 'queue-paused' ? [queue] : [])).sort()
      await eventually('both are listed', async () => (await paused()).length === 2)
      assert.deepEqual([await paused(keys.readA), await paused(keys.readAll)], [['mails-a'], ['mails-a', 'mails-b']])
      const { notChecked } = await list(keys.readA)
      assert.deepEqual(
        notChecked.map(({ kind, reason }) => [kind, /cover the queues mails-a only/.test(reason)]),
        [['outside-of-queues', true]],
      )
      assert.equal((await app.call('GET', '/api/attention', { key: 'wrong' })).status, 401)
    })

    it('is acknowledged with a note until its cause has gone', async () => {
      const item = async (): Promise<AttentionItem | undefined> => (await list()).items.find(({ queue }) => queue === 'mails-a')
      const id = (await item())?.id ?? assert.fail('it is listed')
      const acknowledge = async (note: unknown, key?: string, of = id) => {
        const { body, status } = await app.call('POST', `/api/attention/${of}/acknowledge`, { body: { note }, ...(key && { key }) })
        return [status, body.code ?? body.item?.acknowledged?.note]
      }
      assert.deepEqual(await acknowledge('  '), [400, 'ATTENTION_NOTE_INVALID'])
      assert.deepEqual(await acknowledge('x'.repeat(501)), [400, 'ATTENTION_NOTE_INVALID'])
      assert.equal((await acknowledge(7))[0], 400)
      assert.deepEqual(await acknowledge('known', undefined, 'at_none'), [404, 'ATTENTION_NOT_FOUND'])
      assert.deepEqual(await acknowledge('known', keys.readA), [403, 'MONITOR_FORBIDDEN'])
      const other = (await list()).items.find(({ queue }) => queue === 'mails-b')?.id
      assert.deepEqual(await acknowledge('known', keys.writeA, other), [404, 'ATTENTION_NOT_FOUND'])
      assert.equal((await item())?.acknowledged, undefined)
      assert.deepEqual(await acknowledge('Ann moves the data until 17:00', keys.writeA), [200, 'Ann moves the data until 17:00'])

      const { acknowledged } = (await item()) ?? {}
      assert.deepEqual([acknowledged?.note, acknowledged?.by.kind, acknowledged?.by.via], ['Ann moves the data until 17:00', 'key', 'http'])
      assert.ok(Date.parse(acknowledged?.at ?? '') <= Date.now())
      const ids = async (query: string) => (await list(undefined, query)).items.map((one) => one.id)
      assert.deepEqual(await ids('?acknowledged=true'), [id])
      assert.ok(!(await ids('?acknowledged=false')).includes(id))
      await app.queues.queue('mails-b').resume()
      await eventually('only the acknowledged one is left', async () => (await ids('?acknowledged=false')).length === 0)
      const shown = await run('status', {})
      assert.equal(shown.code, 0)
      assert.match(shown.text, /acknowledged {2}queue:mails-a[\s\S]*Ann moves the data until 17:00/)

      await app.queues.queue('mails-a').resume()
      await eventually('it has gone', async () => (await item()) === undefined)
      await app.queues.queue('mails-a').pause()
      await eventually('it is back', async () => (await item()) !== undefined)
      assert.deepEqual([(await item())?.id, (await item())?.acknowledged], [id, undefined])
      assert.match((await run('status:acknowledge', { id, note: 'again' })).text, /is acknowledged until its cause has gone/)
      await app.queues.queue('mails-a').resume()
    })
  })
}
