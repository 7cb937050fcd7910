import { randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { type ForkedApp, forkApp } from '../../../scripts/testing/forked-app.js'
import { writeProcessors } from '../../../scripts/testing/processor-files.js'
import { webConsole } from '../index.js'

export const declined = 'card declined: insufficient funds'

/** An app of two processes on one Redis, with functions that cause incidents. */
export interface IncidentsApp {
  readonly url: string
  /** Adds a job that fails, runs again immediately, and so blocks 30 other jobs. Resolves to its id after a few attempts. */
  poisonJob(): Promise<string>
  /** Runs 200 attempts of version 1.0.0, which never fails, then 300 of 1.1.0, which fails every tenth. */
  releaseBadVersion(): Promise<void>
  /** Suspends the second process until its lease has ended. Resolves to the id of its node. */
  loseProcess(): Promise<string>
  stop(): Promise<void>
}

const files = {
  'charge.mjs': `export const ZinTrustProcessor = async ({ data }) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (data.poisoned) throw new Error(${JSON.stringify(declined)})
  }`,
  'send.mjs': `export const ZinTrustProcessor = async () => 'sent'`,
  'send-worse.mjs': `export const ZinTrustProcessor = async ({ data }) => {
    if (data.n % 10 === 0) throw new Error('smtp: 421 try again later')
  }`,
}

/** @param env the stores: REDIS_URL and a database. */
export async function incidentsApp(env: Readonly<Record<string, string>>): Promise<IncidentsApp> {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-incidents-'))
  await writeProcessors(rootDir, files)
  const shared = {
    ...env,
    APP_NAME: `incidents-${randomUUID().slice(0, 8)}`,
    WORKER_AUTO_START: 'true',
    WORKER_PERSISTENCE_DRIVER: 'db',
    CLUSTER_HEARTBEAT_MS: '500',
  }
  const plugins = [database(), kv(), cluster(), queues(), ops(), decisions(), workers(), queueMonitor()]
  const host = await createTestHost({ rootDir, listen: true, plugins: [...plugins, webConsole({ refreshInterval: 1000 })], env: shared })
  const second = await forkApp({ app: new URL('../../workers/testing/app-child.ts', import.meta.url), env: shared, rootDir })
  return {
    url: host.url,
    poisonJob: () => poisonJob(host),
    releaseBadVersion: () => releaseBadVersion(host),
    loseProcess: () => loseProcess(host, second),
    async stop() {
      await second.kill()
      await host.stop()
    },
  }
}

async function poisonJob(host: TestHost): Promise<string> {
  const service = host.service(queuesService)
  const one = { concurrency: 1, features: { clustering: false } }
  await host.service(workersService).create({ name: 'charge', queueName: 'charges', processor: 'charge.mjs', ...one })
  const { id = '' } = await service.add('charges', 'charge-card', { poisoned: true }, { attempts: 100_000, lifo: true })
  await service.addBulk(
    'charges',
    Array.from({ length: 30 }, (_, n) => ({ name: 'charge-card', data: { n } })),
  )
  await eventually('it has failed often', async () => ((await service.job('charges', id))?.job.attemptsMade ?? 0) >= 8)
  return id
}

async function releaseBadVersion(host: TestHost): Promise<void> {
  const service = host.service(workersService)
  const run = async (jobs: number): Promise<void> => {
    const before = await attemptsOf(host)
    await host.service(queuesService).addBulk(
      'emails',
      Array.from({ length: jobs }, (_, n) => ({ name: 'email', data: { n } })),
    )
    await eventually('the emails end', async () => (await attemptsOf(host)) >= before + jobs)
  }
  await service.create({ name: 'email-sender', queueName: 'emails', processor: 'send.mjs', concurrency: 10 })
  await run(200)
  await service.registerVersion('email-sender', { version: '1.1.0', processor: 'send-worse.mjs' })
  await service.activate('email-sender', '1.1.0')
  await run(300)
}

/** Returns the number of finished attempts counted by the app. */
async function attemptsOf(host: TestHost): Promise<number> {
  const counts = await host.service(workersService).counts(['email-sender'])
  return counts.reduce((sum, { completed, failed }) => sum + completed + failed, 0)
}

async function loseProcess(host: TestHost, second: ForkedApp): Promise<string> {
  const nodes = await host.service(workersService).nodes()
  const { id } = nodes.find(({ pid }) => pid === second.pid) ?? {}
  if (id === undefined) throw new Error('the second process has not joined')
  second.freeze()
  await eventually('its lease ends', async () => {
    const now = await host.service(workersService).nodes()
    return now.some((node) => node.id === id && !node.alive)
  })
  return id
}
