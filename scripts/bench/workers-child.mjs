// One side of the workers suite, on the built package: consumes a full queue when told to, and says how long it took.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { workers, workersService } from 'zin/plugins/workers'
import { Host, plainEnv } from 'zin/testing'

const [kind = 'bare', redisUrl = ''] = process.argv.slice(2)
const managed = kind === 'managed'
const folder = await mkdtemp(join(tmpdir(), 'zin-bench-'))
const env = {
  ...(redisUrl === '' ? {} : { REDIS_URL: redisUrl, WORKER_PERSISTENCE_DRIVER: 'kvstore' }),
  WORKER_HEALTH_CHECK_INTERVAL: '1',
  LOG_LEVEL: 'error',
  ZIN_DATA_DIR: folder,
}

let completed = () => undefined
const host = new Host(
  {
    plugins: managed ? [database(), kv(), cluster(), queues(), ops(), workers(), workerHealth()] : [database(), queues()],
    hooks: managed ? { onJobStart: () => undefined, onJobComplete: () => completed(), onJobFailed: () => undefined } : {},
  },
  { rootDir: folder, env: plainEnv(env) },
)
await host.start({ listen: false })
const store = host.service(queuesService)
// One that does nothing, as every app has that enables a plugin which wraps attempts.
if (managed) host.service(workersService).useJobMiddleware((_context, next) => next(), { plugin: 'bench' })

/** Fills a queue of its own, then consumes it; ms from its first completed job to its last, as workers live longer than they start. */
async function consume(jobs, concurrency) {
  const name = `bench-${randomUUID().slice(0, 8)}`
  const queue = store.queue(name)
  for (let done = 0; done < jobs; done += 1000) {
    await queue.addBulk(
      Array.from({ length: Math.min(1000, jobs - done) }, (_, n) => ({ name: 'job', data: { n }, opts: { priority: 91, attempts: 3 } })),
    )
  }
  let left = jobs
  let first = 0
  const over = new Promise((resolve) => {
    completed = () => {
      if (left === jobs) first = performance.now()
      if (--left === 0) resolve(performance.now() - first)
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
      // All that act in this app.
      features: { metrics: true, versioning: true, clustering: true, plugins: true, deadLetterQueue: true, healthMonitoring: true },
    })
    await service.start(name)
    const ms = await over
    await service.remove(name)
    return ms
  }
  const processor = async (job) => ({ n: job.data.n })
  const worker = store.worker(name, processor, { concurrency })
  // Without what the plugin queues puts around a processor.
  worker.processFn = processor
  worker.on('completed', () => completed())
  const ms = await over
  await worker.close()
  return ms
}

process.on('message', (message) => {
  if (message === 'stop')
    void host
      .stop('bench')
      .then(() => rm(folder, { recursive: true }))
      .then(() => process.disconnect())
  else void consume(message.jobs, message.concurrency).then((ms) => process.send(ms))
})
process.send('ready')
