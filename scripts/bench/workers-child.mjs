// One side of the workers suite, on the built package: on request, fills a queue or consumes a full one, and reports how long it took.
// `observed` is `managed` with metrics, and 1 % of the traces sent to a receiver.
// `compliant` is `managed` with an audit log and encrypted jobs.
// `idle` is `managed` with the plugins that act on workers automatically; in `acting` they do act: a fifth of the jobs go to a canary.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'bullmq'
import { autoscale } from 'zin/plugins/autoscale'
import { breaker } from 'zin/plugins/breaker'
import { canary, canaryService } from 'zin/plugins/canary'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { observability } from 'zin/plugins/observability'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { resources } from 'zin/plugins/resources'
import { workerHealth } from 'zin/plugins/worker-health'
import { workers, workersService } from 'zin/plugins/workers'
import { Host, plainEnv } from 'zin/testing'

// The third argument is the URL of a trace receiver or of a database.
const [kind = 'bare', redisUrl = '', thirdUrl = ''] = process.argv.slice(2)
const managed = kind !== 'bare'
const acting = kind === 'acting'
const observed = kind === 'observed'
const compliant = kind === 'compliant'
const acts = [decisions(), canary(), breaker(), resources(), autoscale()]
const more = acting || kind === 'idle' ? acts : observed ? [observability()] : compliant ? [compliance()] : []
const folder = await mkdtemp(join(tmpdir(), 'zin-bench-'))
const env = {
  ...(redisUrl === '' ? {} : { REDIS_URL: redisUrl, WORKER_PERSISTENCE_DRIVER: 'kvstore' }),
  WORKER_HEALTH_CHECK_INTERVAL: '1',
  LOG_LEVEL: 'error',
  ...(observed
    ? {
        METRICS_EXPORT_ENABLED: 'true',
        METRICS_PORT: '0',
        WORKER_OPENTELEMETRY_ENABLED: 'true',
        WORKER_OPENTELEMETRY_ENDPOINT: thirdUrl,
        WORKER_OPENTELEMETRY_SAMPLING_RATIO: '0.01',
      }
    : {}),
  // A separate app: in the same one, its leader would encrypt the plain jobs of the other side.
  ...(compliant ? { APP_NAME: 'compliant', APP_KEY: 'k'.repeat(32), ...databaseEnv(thirdUrl) } : {}),
  ZIN_DATA_DIR: folder,
}

function databaseEnv(address) {
  const { hostname, password, pathname, port, username } = new URL(address)
  return {
    DB_CONNECTION: 'rdb',
    DB_HOST: hostname,
    DB_PORT: port,
    DB_DATABASE: pathname.slice(1),
    DB_USERNAME: username,
    DB_PASSWORD: password,
  }
}

let completed = () => undefined
const host = new Host(
  {
    plugins: managed ? [database(), kv(), cluster(), queues(), ops(), workers(), workerHealth(), ...more] : [database(), queues()],
    hooks: managed ? { onJobStart: () => undefined, onJobComplete: () => completed(), onJobFailed: () => undefined } : {},
  },
  { rootDir: folder, env: plainEnv(env) },
)
await host.start({ listen: false })
const store = host.service(queuesService)
// Middleware that does nothing, because every app with a plugin that wraps attempts has some.
if (managed) host.service(workersService).useJobMiddleware((_context, next) => next(), { plugin: 'bench' })

const processor = async (job) => ({ n: job.data.n })

async function startWorker(name, concurrency, features = {}) {
  const service = host.service(workersService)
  await service.create({
    name,
    queueName: name,
    concurrency,
    processor,
    healthCheck: () => ({ healthy: true }),
    jobOptions: { timeout: 60_000 },
    // All features that have an effect in this app.
    features: {
      metrics: true,
      versioning: true,
      clustering: true,
      plugins: true,
      deadLetterQueue: true,
      healthMonitoring: true,
      ...(observed ? { observability: true } : {}),
      ...(compliant ? { compliance: true } : {}),
      ...features,
    },
  })
  await service.start(name)
}

/** Creates a paused worker with a canary before the queue is filled. */
async function prepare(name, concurrency) {
  if (!acting) return
  await startWorker(name, concurrency, { canary: true, circuitBreaker: true, resourceMonitoring: true })
  const service = host.service(workersService)
  await service.registerVersion(name, { version: '2.0.0', processor })
  await host.service(canaryService).start(name, { newVersion: '2.0.0', duration: 3_600_000, steps: [20] })
  await service.pause(name)
}

async function fill(name, jobs) {
  const queue = store.queue(name)
  for (let done = 0; done < jobs; done += 1000) {
    const some = Array.from({ length: Math.min(1000, jobs - done) }, (_, n) => ({ name: 'job', data: { n } }))
    const options = { priority: 91, attempts: 3 }
    // Jobs that bypass the service would not be encrypted.
    if (compliant)
      await store.addBulk(
        name,
        some.map((job) => ({ ...job, options })),
      )
    else await queue.addBulk(some.map((job) => ({ ...job, opts: options })))
  }
}

/** A plain BullMQ worker: on Redis with a separate connection, otherwise on the shared embedded store, without the wrappers of the plugin queues. */
function bareWorker(name, concurrency) {
  if (redisUrl !== '') {
    const { prefix } = store.queue(name).opts
    return new Worker(name, processor, { concurrency, prefix, connection: { url: redisUrl, maxRetriesPerRequest: null } })
  }
  const worker = store.worker(name, processor, { concurrency })
  worker.processFn = processor
  return worker
}

/** Consumes a full queue; returns the ms from the first completed job to the last, to leave out the start of the worker. */
async function consume(name, jobs, concurrency) {
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
    await (acting ? service.resume(name) : startWorker(name, concurrency))
    const ms = await over
    await service.remove(name)
    return ms
  }
  const worker = bareWorker(name, concurrency)
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
  else if (message.jobs === undefined) void prepare(message.name, message.concurrency).then(() => process.send('prepared'))
  else if (message.concurrency === undefined) void fill(message.name, message.jobs).then(() => process.send('filled'))
  else void consume(message.name, message.jobs, message.concurrency).then((ms) => process.send(ms))
})
// The benchmark exited without sending `stop`.
process.once('disconnect', () => process.exit())
process.send('ready')
