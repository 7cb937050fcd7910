import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { autoscale } from 'zin/plugins/autoscale'
import { breaker } from 'zin/plugins/breaker'
import { bulletproof } from 'zin/plugins/bulletproof'
import { canary } from 'zin/plugins/canary'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions, decisionsService } from 'zin/plugins/decisions'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login } from 'zin/plugins/login'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { resources } from 'zin/plugins/resources'
import { workerHealth } from 'zin/plugins/worker-health'
import { type WorkerProcessor, type Workers, workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { webConsole } from '../index.js'

/** Text that would run code if it were parsed as HTML. */
export const hostile = '<img src=x onerror=globalThis.hacked=1>'

/** The user that can sign in. */
export const account = { email: 'operator@example.com', password: 'correct horse battery staple' } as const

export interface OperatedApp {
  readonly host: TestHost
  readonly url: string
  readonly workers: Workers
  /** Runs jobs of a worker and resolves when they have ended. */
  run(worker: string, jobs: number): Promise<void>
}

const fails = (each: number): WorkerProcessor => {
  let count = 0
  return async () => {
    if (count++ % each === each - 1) throw new Error('smtp: 451 greylisted')
    return 'sent'
  }
}

/**
 * An app with typical states: a worker with a running canary, one whose breaker is open, one that is stopped, and decisions, one of them
 * with hostile text.
 */
export async function operatedApp(): Promise<OperatedApp> {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-console-'))
  const ended = new Map<string, number>()
  const host = await createTestHost({
    rootDir,
    dataDir: join(rootDir, 'data'),
    listen: true,
    plugins: [
      ...[database(), kv(), cluster(), queues(), jwt(), bulletproof(), ops(), decisions(), resources({ intervalSeconds: 1 })],
      login({
        verifyCredentials: async (email, password) =>
          email === account.email && password === account.password ? { id: '7', email, role: 'admin' } : undefined,
      }),
      ...[workers(), workerHealth(), canary({ lookMs: 200, flushMs: 100 }), breaker(), autoscale(), queueMonitor(), webConsole()],
    ],
    hooks: {
      onAttemptEnd: ({ worker }) => void ended.set(worker, (ended.get(worker) ?? 0) + 1),
    },
    env: {
      APP_KEY: 'an-app-key-of-at-least-thirty-two-bytes',
      WORKER_AUTO_START: 'true',
      WORKER_AUTO_SCALING_ENABLED: 'true',
    },
  })
  const service = host.service(workersService)
  const run: OperatedApp['run'] = async (worker, jobs) => {
    const wanted = (ended.get(worker) ?? 0) + jobs
    for (let left = jobs; left > 0; left -= 50)
      await Promise.all(Array.from({ length: Math.min(50, left) }, () => service.enqueue(worker, { to: 'a@example.com' }, { attempts: 1 })))
    await eventually('the jobs end', () => (ended.get(worker) ?? 0) >= wanted)
  }
  await service.create({
    name: 'email-sender',
    queueName: 'emails',
    concurrency: 20,
    features: { autoScaling: true },
    processor: fails(100),
  })
  await service.registerVersion('email-sender', { version: '1.1.0', description: `Templates ${hostile}`, processor: fails(20) })
  await service.registerVersion('email-sender', { version: '1.2.0', description: 'Connection pool', processor: fails(100) })
  await service.create({ name: 'imports', queueName: 'imports', features: { circuitBreaker: true }, processor: fails(1) })
  await service.create({ name: 'reports', queueName: 'reports', processor: fails(100) })
  await service.create({ name: 'thumbnails', queueName: 'thumbnails', processor: fails(100) })
  await service.stop('reports')
  host.service(decisionsService).record({
    kind: 'nightly',
    subject: 'worker:email-sender',
    verdict: 'paused',
    acted: false,
    reason: `Would pause because of ${hostile}`,
    inputs: { from: '01:00', note: hostile },
    rule: 'nightly/closed',
    links: { worker: '/api/workers/email-sender' },
  })
  await run('email-sender', 100)
  const { status } = await host.inject({
    method: 'POST',
    path: '/api/workers/email-sender/canary/start',
    headers: { 'x-requested-with': 'test' },
    body: { newVersion: '1.1.0', steps: [20, { trafficPercentage: 40, gate: true }, 60], duration: 3_600_000, autoRollback: false },
  })
  if (status >= 300) throw new Error(`the canary did not start: ${status}`)
  await run('email-sender', 400)
  await run('imports', 5)
  await host.inject({ method: 'POST', path: '/api/resources/start', headers: { 'x-requested-with': 'test' } })
  return { host, url: host.url, workers: service, run }
}
