import type { Job } from 'bullmq'
import { type Clock, definePlugin, type Plugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { type QueuesOptions, queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { compliance } from '../index.js'
import type { ComplianceOptions } from '../options.js'

export type Env = Readonly<Record<string, string>>

/** Processors of the test app's worker, by job name. */
export type Steps = Readonly<Record<string, (job: Job) => Promise<unknown>>>

export interface ComplianceApp {
  readonly host: TestHost
  stop(): Promise<void>
}

/** An app with the plugin, and a worker `orders` that runs the given steps. */
export async function complianceApp({
  env,
  dataDir,
  options = {},
  search = {},
  steps = {},
  extra = [],
  clock,
}: {
  readonly env: Env
  readonly dataDir: string
  readonly options?: Partial<ComplianceOptions>
  /** Searchable fields by queue. */
  readonly search?: QueuesOptions['search']
  readonly steps?: Steps
  readonly extra?: readonly Plugin[]
  /** Default: the system clock. */
  readonly clock?: Clock
}): Promise<ComplianceApp> {
  const shop = definePlugin({
    name: 'shop',
    version: '1.0.0',
    uses: { workers: workersService, queues: queuesService },
    setup: ({ services }) => void services.workers.register('orders', async (job) => steps[job.name]?.(job as Job)),
  })
  const host = await createTestHost({
    plugins: [
      database(),
      kv(),
      cluster(),
      queues({ search }),
      ops(),
      decisions(),
      workers(),
      queueMonitor(),
      compliance(options),
      shop(),
      ...extra,
    ],
    env: { QUEUE_FSYNC: 'off', WORKER_PERSISTENCE_DRIVER: 'db', WORKER_AUTO_START: 'true', WORKER_AUDIT_LOG: 'false', ...env },
    dataDir,
    ...(clock === undefined ? {} : { clock }),
  })
  return { host, stop: async () => void (await host.stop()) }
}
