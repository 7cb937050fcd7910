// One side of the workers suite: consumes a full queue when told to, and says how long it took.
import { randomUUID } from 'node:crypto'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { featureNames, workers, workersService } from 'zin/plugins/workers'
import { plainEnv } from '../../core/config/read-settings.js'
import { Host } from '../../core/host/host.js'
import { memoryLogger } from '../../core/log/memory-logger.js'
import { temporaryFolder } from '../app-process.js'

const [kind = 'bare', redisUrl = ''] = process.argv.slice(2)
const managed = kind === 'managed'
const env = {
  ...(redisUrl === '' ? {} : { REDIS_URL: redisUrl, WORKER_PERSISTENCE_DRIVER: 'kvstore' }),
  WORKER_HEALTH_CHECK_INTERVAL: '1',
  LOG_LEVEL: 'error',
}

let completed: () => void = () => undefined
const folder = temporaryFolder()
const host = new Host(
  {
    plugins: managed ? [database(), kv(), queues(), ops(), workers(), workerHealth()] : [database(), queues()],
    hooks: managed ? { onJobStart: () => undefined, onJobComplete: () => completed(), onJobFailed: () => undefined } : {},
  },
  { rootDir: folder.path, env: plainEnv({ ZIN_DATA_DIR: folder.path, ...env }), log: memoryLogger() },
)
await host.start({ listen: false })
const store = host.service(queuesService)

/** Fills a queue of its own, then consumes it; ms from the start of the consumer to its last job. */
async function consume(jobs: number, concurrency: number): Promise<number> {
  const name = `bench-${randomUUID().slice(0, 8)}`
  const queue = store.queue(name)
  for (let done = 0; done < jobs; done += 1000) {
    await queue.addBulk(
      Array.from({ length: Math.min(1000, jobs - done) }, (_, n) => ({ name: 'job', data: { n }, opts: { priority: 91, attempts: 3 } })),
    )
  }
  let left = jobs
  let begun = 0
  const over = new Promise<number>((resolve) => {
    completed = () => {
      if (--left === 0) resolve(performance.now() - begun)
    }
  })
  if (managed) {
    const service = host.service(workersService)
    await service.create({
      name,
      queueName: name,
      concurrency,
      processor: async (job) => ({ n: job.data.n }),
      healthCheck: () => ({ healthy: true }),
      jobOptions: { timeout: 60_000 },
      features: Object.fromEntries(featureNames.map((feature) => [feature, true])),
    })
    begun = performance.now()
    await service.start(name)
    const ms = await over
    await service.remove(name)
    return ms
  }
  begun = performance.now()
  const worker = store.worker(name, async (job) => ({ n: job.data.n }), { concurrency })
  worker.on('completed', () => completed())
  const ms = await over
  await worker.close()
  return ms
}

process.on('message', (message: { jobs: number; concurrency: number } | 'stop') => {
  if (message === 'stop')
    void host
      .stop('bench')
      .then(folder.remove)
      .then(() => process.disconnect())
  else void consume(message.jobs, message.concurrency).then((ms) => process.send?.(ms))
})
process.send?.('ready')
