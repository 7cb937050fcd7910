import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decisionsService } from 'zin/plugins/decisions'
import { eventually } from '../../scripts/testing/eventually.js'
import type { QueueAlert } from './alerts/alerts.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'

/** Queue alerts, for each queue store. */
export function alertsContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`alerts of queues on ${title}`, () => {
    let app: MonitoredApp
    const active = async (key?: string): Promise<readonly string[]> => {
      const { body } = await app.call('GET', '/api/queue/alerts', key === undefined ? {} : { key })
      return body.alerts.map(({ queue, rule }: QueueAlert) => `${queue} ${rule}`).sort()
    }

    before(async () => {
      const alerts = { queueSize: { threshold: 2 }, failureRate: 0.3, oldestWaiting: false, coolDown: 86_400_000 }
      app = await monitoredApp(env(), { monitor: { interval: 1000, alerts } })
    })
    after(() => app.host.stop())

    it('are raised once, recorded, and visible only to callers that cover the queue', async () => {
      await app.queues.addBulk('mails-b', [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
      await app.queues.addBulk(
        'mails-a',
        Array.from({ length: 20 }, () => ({ name: 'x', data: { bad: true } })),
      )
      await eventually('both are active', async () => (await active()).join() === 'mails-a failure-rate,mails-b queue-size')
      assert.deepEqual(await active(keys.readA), ['mails-a failure-rate'])
      const [alert] = app.host
        .recorded('onQueueAlert')
        .map(([one]) => one as QueueAlert)
        .filter(({ queue }) => queue === 'mails-b')
      assert.deepEqual([alert?.rule, alert?.state, alert?.value, alert?.threshold], ['queue-size', 'raised', 3, 2])
    })

    it('are cleared, and not raised again during the cool-down', async () => {
      const jobs = await app.queues.list('mails-b', 'waiting', { offset: 0, limit: 10 })
      await jobs[0]?.remove()
      await eventually('it is cleared', async () => !(await active()).includes('mails-b queue-size'))
      await app.queues.addBulk('mails-b', [{ name: 'd' }, { name: 'e' }])
      await app.queues.addBulk('mails-c', [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
      await eventually('a later sample was looked at', async () => (await active()).includes('mails-c queue-size'))
      assert.ok(!(await active()).includes('mails-b queue-size'))
      const decisions = app.host.service(decisionsService)
      await decisions.flush()
      const { decisions: found } = await decisions.list({ subject: 'queue:mails-b' })
      assert.deepEqual(
        found.map(({ rule, verdict }) => [rule, verdict]),
        [
          ['queue-monitor/queue-size', 'cleared'],
          ['queue-monitor/queue-size', 'raised'],
        ],
      )
    })
  })
}
