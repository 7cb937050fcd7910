import { randomUUID } from 'node:crypto'
import { definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { webConsole } from '../index.js'
import type { ConsoleOptions } from '../options.js'

export const hostile = '<img src=x onerror="window.pwned=1">'
export const basic = { username: 'ann', password: 'correct horse' } as const
export const readKey = 'a key that only reads queues'

/** The credential for a request to this path cannot be created, because of an error with this text. */
export const faultyPath = '/api/faulty'
export const faultyText = 'the vault at 10.0.0.7 is sealed'

const guest = definePlugin({
  name: 'guest',
  version: '1.0.0',
  setup({ hooks }) {
    hooks.on('collectConsole', () => ({ module: new URL('./guest-page.js', import.meta.url) }))
    hooks.on('authorizeCommand', ({ url }) => {
      if (new URL(url).pathname === faultyPath) throw new Error(faultyText)
      return undefined
    })
  },
})

export interface ConsoleApp {
  readonly host: TestHost
  readonly url: string
  /** Adds a job that fails on its only attempt, and resolves to its id. */
  fail(name?: string): Promise<string>
  /** Adds jobs with hostile names and errors in every state, and a schedule. */
  plantHostile(): Promise<void>
  /** Ids of the added jobs: `retried` in `mails`, the others in `hostile-data`. */
  readonly hostileIds: { readonly retried: string; readonly flow: string; readonly child: string }
}

/** An app with the console, a worker on `mails` that fails jobs with `bad`, and the queue `hostile-data` without a consumer. */
export async function consoleApp(env: Readonly<Record<string, string>> = {}, options: Partial<ConsoleOptions> = {}): Promise<ConsoleApp> {
  const host = await createTestHost({
    listen: true,
    app: { name: `console-${randomUUID().slice(0, 8)}` },
    plugins: [
      database(),
      kv(),
      cluster(),
      queues({ search: { 'hostile-data': ['customer.id'] } }),
      jwt(),
      ops(),
      decisions(),
      workers({
        processors: {
          mailer: (job: { readonly data: unknown }) => {
            if ((job.data as { bad?: boolean }).bad === true) throw new Error(`no such mailbox ${hostile}`)
            return { sent: true }
          },
        },
      }),
      queueMonitor({ auth: { type: 'basic', ...basic }, apiKeys: { [readKey]: { permissions: ['read'], queues: '*' } } }),
      webConsole(options),
      guest(),
    ],
    env: { APP_KEY: 'a key that is long enough for tests only', WORKER_AUTO_START: 'true', ...env },
  })
  await host.service(workersService).create({ name: 'mailer', queueName: 'mails' })
  const { queue } = host.service(queuesService)
  await queue('hostile-data').add(hostile, {
    note: `</script>${hostile}`,
    long: 'x'.repeat(400),
    nested: { emoji: '🙈', list: [1, null, true] },
  })
  let hostileIds: ConsoleApp['hostileIds'] | undefined
  return {
    host,
    url: host.url,
    get hostileIds() {
      if (hostileIds === undefined) throw new Error('nothing hostile was planted')
      return hostileIds
    },
    async plantHostile() {
      hostileIds = await plantHostile(host)
    },
    async fail(name = hostile) {
      const job = await queue('mails').add(name, { bad: true, note: hostile }, { attempts: 1 })
      return job.id ?? ''
    },
  }
}

async function plantHostile(host: TestHost): Promise<ConsoleApp['hostileIds']> {
  const service = host.service(queuesService)
  // Exponential backoff, so that the job costs little after a few attempts.
  const backoff = { type: 'exponential', delay: 20 } as const
  const retried = await service.add('mails', hostile, { bad: true }, { attempts: 30, backoff })
  await retried.log(hostile)
  await service.add('hostile-data', hostile, {}, { delay: 3_600_000 })
  const tree = await service.addFlow({
    name: hostile,
    queueName: 'hostile-data',
    children: [{ name: hostile, queueName: 'hostile-data', data: { note: hostile }, opts: { delay: 3_600_000 } }],
  })
  const done = await service.add('hostile-done', hostile, {})
  await host.service(workersService).create({ name: 'done', queueName: 'hostile-done', processor: () => hostile })
  const timing = { every: 3_600_000 }
  await host.service(workersService).schedule('mailer', 'hourly', timing)
  await eventually('the job is retried', async () => ((await service.job('mails', retried.id ?? ''))?.job.attemptsMade ?? 0) >= 6)
  await eventually('the job completes', async () => (await service.job('hostile-done', done.id ?? ''))?.state === 'completed')
  return { retried: retried.id ?? '', flow: tree.job.id ?? '', child: tree.children?.[0]?.job.id ?? '' }
}
