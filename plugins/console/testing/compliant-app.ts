import { cluster } from 'zin/plugins/cluster'
import { compliance, complianceService } from 'zin/plugins/compliance'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { webConsole } from '../index.js'

/** Used as a reason, a subject and a job name; would run code if it were parsed as HTML. */
export const hostile = '<img src=x onerror=globalThis.hacked=1>'

/** An app with an audit log, jobs about the subject `ann` and a hostile one, and an API key that can only read queues. */
export async function compliantApp(readKey: string): Promise<TestHost> {
  const host = await createTestHost({
    listen: true,
    plugins: [
      ...[database(), kv(), cluster(), queues(), jwt(), ops()],
      workers({ processors: { mailer: async () => 'sent' } }),
      queueMonitor({ apiKeys: { [readKey]: { permissions: ['read'], queues: '*' } } }),
      compliance({ subjects: { mails: ['user.id'] } }),
      webConsole(),
    ],
    env: { APP_KEY: 'an-app-key-of-at-least-thirty-two-bytes', WORKER_AUTO_START: 'true', WORKER_GDPR: 'true' },
  })
  const work = host.service(workersService)
  await host.inject({
    method: 'POST',
    path: '/api/workers',
    headers: { 'x-requested-with': 'test', 'x-audit-reason': hostile },
    body: { name: 'mailer', queueName: 'mails' },
  })
  for (const id of ['ann', hostile]) await work.enqueue('mailer', { user: { id } }, { name: hostile })
  await work.enqueue('mailer', { user: { id: 'ann' } }, { delay: 3_600_000 })
  const { entries } = host.service(complianceService)
  await eventually('both mails are sent', async () => (await entries({ action: 'job.end' })).pagination.total === 2)
  return host
}
