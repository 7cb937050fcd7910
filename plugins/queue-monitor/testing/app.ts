import { randomUUID } from 'node:crypto'
import type { Clock } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { type Queues, queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { queueMonitor } from '../index.js'

export interface Response {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a body as JSON.parse gives it
  readonly body: any
  readonly headers: Readonly<Record<string, unknown>>
}

export const keys = {
  readA: 'key-that-reads-queue-a',
  writeA: 'key-that-writes-queue-a',
  adminA: 'key-that-may-all-of-queue-a',
  readAll: 'key-that-reads-everything',
  adminAll: 'key-that-may-all-of-all-queues',
} as const

const search = { 'mails-a': ['to'], 'mails-b': ['customer.id', 'apiKey'], 'mails-c': ['customer.id'] }

export const basic = { username: 'ann', password: 'a:password:with:colons' } as const

/** An app with the monitor, a worker on the queue `mails-a` that fails jobs named `bad`, and no consumer of `mails-b`. */
export interface MonitoredApp {
  readonly host: TestHost
  readonly queues: Queues
  call(
    method: string,
    path: string,
    options?: { readonly key?: string; readonly headers?: object; readonly body?: unknown },
  ): Promise<Response>
}

export async function monitoredApp(
  env: Readonly<Record<string, string>>,
  options: object = {},
  hooks: TestHostOptions['hooks'] = {},
  listen = false,
  clock?: Clock,
): Promise<MonitoredApp> {
  const host = await createTestHost({
    hooks,
    listen,
    ...(clock === undefined ? {} : { clock }),
    app: { name: `monitor-${randomUUID().slice(0, 8)}` },
    plugins: [
      database(),
      kv(),
      cluster(),
      queues({ search }),
      ops(),
      decisions(),
      compliance({ clearFields: search }),
      workers({
        processors: {
          'mailer-a': (job: { readonly name: string; readonly data: unknown }) => {
            if ((job.data as { bad?: boolean })?.bad) throw new Error('no such mailbox')
            return { sent: true }
          },
        },
      }),
      queueMonitor({
        monitor: { interval: 1000 },
        auth: { type: 'basic', ...basic },
        apiKeys: {
          [keys.readA]: { permissions: ['read'], queues: ['mails-a'] },
          [keys.writeA]: { permissions: ['write'], queues: ['mails-a'] },
          [keys.adminA]: { permissions: ['admin'], queues: ['mails-a'] },
          [keys.readAll]: { permissions: ['read'], queues: '*' },
          [keys.adminAll]: { permissions: ['admin'], queues: '*' },
        },
        ...options,
      }),
    ],
    env: { APP_KEY: 'a key of 32 bytes for these tests.', WORKER_AUTO_START: 'true', QUEUE_FSYNC: 'off', ...env },
  })
  await host.service(workersService).create({ name: 'mailer-a', queueName: 'mails-a' })
  return {
    host,
    queues: host.service(queuesService),
    async call(method, path, { body, headers = {}, key } = {}) {
      const sent = { 'x-requested-with': 'test', ...(key === undefined ? {} : { 'x-api-key': key }), ...headers }
      return host.inject({ method, path, headers: sent, ...(body === undefined ? {} : { body }) } as Parameters<TestHost['inject']>[0])
    },
  }
}
