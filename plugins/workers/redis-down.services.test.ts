import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { type WorkerProcessor, workers, workersService } from './index.js'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

describe('a host whose Redis goes away for good', () => {
  let redis: ChildProcess
  let url: string
  let running: Promise<void>
  let ended = (): void => undefined
  let started = (): void => undefined

  beforeEach(async () => {
    const port = await freePort()
    const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', tmpdir(), '--save', '', '--appendonly', 'no']
    redis = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const chunk of redis.stdout ?? []) if (/ready to accept connections/i.test(String(chunk))) break
    url = `redis://127.0.0.1:${port}`
    running = new Promise((resolve) => {
      started = resolve
    })
  })
  afterEach(() => {
    ended()
    redis.kill('SIGKILL')
  })

  /** A job that ends when it is told to. */
  const stubborn: WorkerProcessor = async () => {
    started()
    await new Promise<void>((resolve) => {
      ended = resolve
    })
  }
  const obedient: WorkerProcessor = async (_job, _token, signal) => {
    started()
    if (signal) await once(signal, 'abort')
  }
  const plugins = (...more: ReturnType<typeof workers>[]) => [database(), kv(), queues(), ops(), ...more]

  const startTask = async (task: WorkerProcessor): Promise<TestHost> => {
    const host = await createTestHost({
      plugins: plugins(workers({ processors: { task } })),
      env: { REDIS_URL: url },
      // Running jobs get most of it to end.
      shutdown: { deadlineMs: 5_000 },
    })
    const service = host.service(workersService)
    await service.create({ name: 'task', queueName: 'task' })
    await service.start('task')
    return host
  }

  const killWhileRunning = async (host: TestHost): Promise<void> => {
    await host.service(workersService).enqueue('task', {})
    await running
    await killRedis()
  }

  const killRedis = async (): Promise<void> => {
    const gone = once(redis, 'exit')
    redis.kill('SIGKILL')
    await gone
  }

  /** The test host itself fails when a plugin hung, or left a timer or a socket. */
  const stopsInTime = async (host: TestHost): Promise<void> => {
    const report = await host.stop()
    assert.deepEqual(
      report.plugins.filter((row) => row.ms > 10_000),
      [],
    )
  }

  it('stops with an idle worker, a producer and a reader of events', async () => {
    const host = await createTestHost({ plugins: plugins(), env: { REDIS_URL: url } })
    const service = host.service(queuesService)
    const worker = service.worker('idle', async () => undefined)
    const events = service.events('idle')
    await Promise.all([worker.waitUntilReady(), events.waitUntilReady(), service.add('idle', 'later', {}, { delay: 60_000 })])
    const noticed = once(worker, 'error')
    await killRedis()
    await noticed
    await stopsInTime(host)
  })

  it('stops with an idle managed worker', async () => {
    const host = await startTask(obedient)
    await killRedis()
    await stopsInTime(host)
  })

  it('stops while a job runs that heeds its signal', async () => {
    const host = await startTask(obedient)
    await killWhileRunning(host)
    await stopsInTime(host)
  })

  it('stops while a job runs that does not end', async () => {
    const host = await startTask(stubborn)
    await killWhileRunning(host)
    await stopsInTime(host)
  })

  it('stops after a job that ended while nobody could be told', async () => {
    const host = await startTask(stubborn)
    await killWhileRunning(host)
    ended()
    await stopsInTime(host)
  })
})
