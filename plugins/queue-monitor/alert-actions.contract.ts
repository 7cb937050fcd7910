import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { decisionsService } from 'zin/plugins/decisions'
import { eventually } from '../../scripts/testing/eventually.js'
import { type MonitoredApp, monitoredApp } from './testing/app.js'
import { MailServer } from './testing/mail-server.js'
import { Receiver } from './testing/receiver.js'

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const slackPath = '/services/T0/B0/very-secret'

/** Actions of alerts, for each queue store. */
export function alertActionsContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`actions of alerts on ${title}`, () => {
    let app: MonitoredApp
    let receiver: Receiver
    let mail: MailServer
    let slackStatus = 200

    before(async () => {
      receiver = await Receiver.open()
      mail = await MailServer.open()
      receiver.answer(slackPath, (response) => response.writeHead(slackStatus).end('ok'))
      const recipients = ['ops@example.com', 'lead@example.com']
      app = await monitoredApp(env(), {
        monitor: {
          interval: 1000,
          alerts: {
            queueSize: { threshold: 2, action: 'slack', webhook: receiver.url(slackPath) },
            oldestWaiting: { threshold: 0, action: 'webhook', webhook: receiver.url('/alerts') },
            failureRate: { threshold: 0.3, action: 'email', recipients },
            processingTime: false,
            coolDown: 0,
          },
          webhookSecret: secret,
          webhooks: [
            { url: receiver.url('/raised'), events: ['queue.alert'] },
            { url: receiver.url('/cleared'), events: ['queue.alert.cleared'] },
            { url: receiver.url('/default'), queues: ['mails-b'] },
          ],
          delivery: { retries: [1], allowPrivate: true },
          smtp: { host: '127.0.0.1', port: mail.port, from: 'zin@example.com' },
        },
      })
    })
    after(async () => {
      await app?.host.stop()
      await receiver.close()
      await mail.close()
    })

    it('notify Slack and a webhook when an alert is raised and cleared', async () => {
      await app.queues.addBulk('mails-b', [{ name: 'a' }, { name: '<b>' }, { name: 'c' }])
      await eventually('both are notified', () => receiver.at(slackPath).length === 1 && receiver.at('/alerts').length === 1)
      assert.match(
        receiver.at(slackPath)[0]?.body.text,
        /^:rotating_light: Alert queue-size of queue mails-b raised: 3 jobs are waiting; the threshold is 2/,
      )
      const [alert] = receiver.at('/alerts')
      new Webhook(secret).verify(alert?.text ?? '', alert?.headers as Record<string, string>)
      const { reason, value, ...data } = alert?.body.data ?? {}
      assert.deepEqual(data, {
        jobId: null,
        queue: 'mails-b',
        status: 'raised',
        processingTime: null,
        attempts: null,
        rule: 'oldest-waiting',
        threshold: 0,
      })
      assert.deepEqual([alert?.body.event, value > 0, /has waited for/.test(reason)], ['queue.alert', true, true])
      for (const job of await app.queues.list('mails-b', 'waiting', { offset: 0, limit: 10 })) await job.remove()
      await eventually(
        'both are notified of the recovery',
        () => receiver.at(slackPath).length === 2 && receiver.at('/alerts').length === 2,
      )
      assert.match(receiver.at(slackPath)[1]?.body.text, /^:white_check_mark: .* cleared/)
      const { data: cleared, event } = receiver.at('/alerts')[1]?.body ?? {}
      assert.deepEqual([event, cleared.status, cleared.rule], ['queue.alert.cleared', 'cleared', 'oldest-waiting'])
      const told = (path: string) => receiver.at(path).map(({ body }) => `${body.event} ${body.data.status} ${body.data.rule}`)
      await eventually('other endpoints are told', () => told('/cleared').length === 2 && told('/default').length === 4)
      const rules = ['oldest-waiting', 'queue-size']
      assert.deepEqual(
        [told('/raised').toSorted(), told('/cleared').toSorted()],
        [rules.map((rule) => `queue.alert raised ${rule}`), rules.map((rule) => `queue.alert.cleared cleared ${rule}`)],
      )
      assert.deepEqual(told('/default').toSorted(), [...told('/raised'), ...told('/cleared')].toSorted())
    })

    it('send an email to each recipient', async () => {
      await app.queues.addBulk(
        'mails-a',
        Array.from({ length: 20 }, () => ({ name: 'x', data: { bad: true } })),
      )
      await eventually('the email has arrived', () => mail.mails.length > 0)
      const [{ text, to }] = mail.mails as [{ text: string; to: string[] }]
      assert.deepEqual(to, ['ops@example.com', 'lead@example.com'])
      assert.match(text, /^Subject: Alert failure-rate of queue mails-a raised$/m)
      assert.match(text, /(\d+) of \1 attempts( of \d+ minutes)? failed \(100 %\); the threshold is 30 %/)
    })

    it('record failed deliveries without secrets', async () => {
      slackStatus = 500
      await app.queues.addBulk('mails-c', [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
      const failed = async () => {
        const { body } = await app.call('GET', '/api/queue/webhooks/deliveries?state=failed')
        return body.deliveries.filter(({ channel }: { channel: string }) => channel === 'slack')
      }
      await eventually('it has failed', async () => (await failed()).length === 1)
      const decisions = app.host.service(decisionsService)
      await decisions.flush()
      const { decisions: found } = await decisions.list({ kind: 'webhook' })
      assert.match(found[0]?.reason ?? '', /^A delivery failed permanently after 2 attempts: The receiver responded with 500$/)
      const { body } = await app.call('GET', '/api/queue/webhooks')
      const log = (await app.call('GET', '/api/queue/webhooks/deliveries?limit=100')).body
      assert.doesNotMatch(JSON.stringify([body, found, log]), /very-secret|whsec/)
      const actions = body.webhooks.filter(({ source }: Record<string, string>) => source === 'alert')
      assert.deepEqual(actions.map(({ channel, rule }: Record<string, string>) => `${rule} ${channel}`).sort(), [
        'failure-rate email',
        'oldest-waiting webhook',
        'queue-size slack',
      ])
    })
  })
}
