import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type CommandContext, ZinError } from 'zin'
import { eventually } from '../../scripts/testing/eventually.js'
import { attentionCommands } from './attention/cli.js'
import type { AttentionItem, AttentionList } from './attention/item.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'

/** The list of what needs attention: who sees it, and how it is acknowledged. Its kinds have a contract of their own. */
export function attentionContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`what needs attention on ${title}`, () => {
    let app: MonitoredApp
    let ahead = 0
    const list = async (key?: string, query = ''): Promise<AttentionList> => {
      const { body, status } = await app.call('GET', `/api/attention${query}`, key === undefined ? {} : { key })
      assert.deepEqual([status, body.ok], [200, true])
      return body
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
      const alerts = { queueSize: false, processingTime: false, failureRate: false }
      const clock = { now: () => Date.now() + ahead, monotonic: () => performance.now() }
      app = await monitoredApp(env(), { monitor: { interval: 1000, alerts } }, {}, false, clock)
    })
    /** Lets the time pass that a queue may be paused, once a check has seen that it is. */
    const passPause = async (): Promise<void> => {
      const from = Date.now() + ahead
      const checks = new Set<string>()
      // The first one may have begun before.
      await eventually(
        'it is checked',
        async () => checks.add((await list()).at).size > 0 && [...checks].filter((at) => Date.parse(at) > from).length > 1,
      )
      ahead += 20_000
    }
    after(() => app?.host.stop())

    it('is nothing in an app without problems', async () => {
      await eventually('it has been checked', async () => {
        const { items, notChecked } = await list()
        return items.length === 0 && notChecked.length === 0
      })
      assert.deepEqual(await run('status', {}), { code: 0, text: 'Nothing needs attention', records: [] })
    })

    it('shows credentials for queues only what concerns their queues, and says so', async () => {
      for (const queue of ['mails-a', 'mails-b']) await app.queues.queue(queue).pause()
      const paused = async (key?: string) =>
        (await list(key)).items.flatMap(({ kind, queue }) => (kind === 'queue-paused' ? [queue] : [])).sort()
      assert.deepEqual(await paused(), [])
      await passPause()
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
      assert.ok(Date.parse(acknowledged?.at ?? '') <= Date.now() + ahead)
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
      await passPause()
      await eventually('it is back', async () => (await item()) !== undefined)
      assert.deepEqual([(await item())?.id, (await item())?.acknowledged], [id, undefined])
      assert.match((await run('status:acknowledge', { id, note: 'again' })).text, /is acknowledged until its cause has gone/)
      await app.queues.queue('mails-a').resume()
    })
  })
}
