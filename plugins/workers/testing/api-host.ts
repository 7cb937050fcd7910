import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deny } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { writeProcessors } from '../../../scripts/testing/processor-files.js'
import { type WorkerChange, type Workers, workers, workersService } from '../index.js'

type Answer = Awaited<ReturnType<TestHost['inject']>>

/** An app with the worker API, with helpers for tests of the API. */
export interface ApiHost {
  readonly host: TestHost
  readonly service: Workers
  /** Suffix of the names in a test, so that stores may be shared. */
  readonly run: string
  call(method: string, path: string, body?: unknown): Promise<Answer>
  /** Repeats a request until the response matches, and returns it. */
  until(path: string, fits: (body: Answer['body']) => boolean): Promise<Answer>
  /** The changes that the hooks received for a request. */
  changesOf(requestId: string): Readonly<Record<'before' | 'on', readonly WorkerChange[]>>
  /** Runs `work` once, in the middle of the next request that adds a job or schedule: after validation, before it is stored. */
  meanwhile(work: () => Promise<unknown>): void
  stop(): Promise<void>
}

/** Processor files of the app. */
const files: Readonly<Record<string, string>> = {
  'job.mjs': 'export const ZinTrustProcessor = async (job) => job.data',
  'broken.mjs': 'throw new Error("broken on purpose")',
  'check.mjs': 'export default () => ({ healthy: true })',
  'unwell.mjs': 'export default () => ({ healthy: false, error: "not today" })',
}

/** The environment that selects a backend. */
export interface Backend {
  readonly env: Readonly<Record<string, string>>
}

export async function startApi({ env }: Backend, more: Readonly<Record<string, string>> = {}): Promise<ApiHost> {
  const run = randomUUID().slice(0, 8)
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-api-'))
  await writeProcessors(rootDir, files)
  let interruption: (() => Promise<unknown>) | undefined
  const asked: WorkerChange[] = []
  const told: WorkerChange[] = []
  const host = await createTestHost({
    plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { [`in-code-${run}`]: () => 1 } }), workerHealth()],
    hooks: {
      beforeWorkerStart: (worker) => (worker.startsWith('denied') ? deny('it is Sunday') : undefined),
      beforeWorkerChange(change) {
        asked.push(change)
        if (change.worker.startsWith('kept')) return deny('it is kept')
        return change.worker.startsWith('locked') ? deny('it is locked', { status: 403 }) : undefined
      },
      onWorkerChange: (change) => void told.push(change),
      async transformJobOptions() {
        const work = interruption
        interruption = undefined
        await work?.()
      },
      restoreJobResult(_result, worker) {
        if (worker.startsWith('sealed')) throw new Error('the key is lost')
      },
    },
    rootDir,
    dataDir: join(rootDir, 'data'),
    env: {
      ...env,
      WORKER_AUTO_START: 'true',
      WORKER_HEALTH_CHECK_INTERVAL: '1',
      WORKER_PERSISTENCE_REDIS_KEY_PREFIX: `api-${run}`,
      CLUSTER_NAME: `api-${run}`,
      WORKER_PERSISTENCE_TABLE: `api_${run}`,
      ...more,
    },
    listen: true,
  })
  const call: ApiHost['call'] = (method, path, body) =>
    host.inject({ method, path, headers: { 'x-requested-with': 'test' }, ...(body === undefined ? {} : { body }) })
  return {
    host,
    run,
    service: host.service(workersService),
    call,
    async until(path, fits) {
      let answer = await call('GET', path)
      await eventually(`${path} fits: ${answer.text}`, async () => {
        answer = await call('GET', path)
        return fits(answer.body)
      })
      return answer
    },
    changesOf: (requestId) => ({
      before: asked.filter((change) => change.requestId === requestId),
      on: told.filter((change) => change.requestId === requestId),
    }),
    meanwhile(work) {
      interruption = work
    },
    async stop() {
      await host.stop()
      await rm(rootDir, { recursive: true, force: true })
    },
  }
}
