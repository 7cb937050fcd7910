import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, fake, type TestHost } from 'zin/testing'
import { type CheckOutcome, workerHealth } from './index.js'

const noQueues = fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined })

describe('the routes of worker-health', () => {
  it('are all guarded', async () => {
    const host = await createTestHost({
      services: [noQueues],
      plugins: [database(), kv(), cluster(), jwt(), ops(), workers(), workerHealth()],
      env: { OPS_AUTH: 'required', JWT_SECRET: 'a-secret-of-more-than-thirty-two-characters' },
    })
    const { token } = await host.service(tokensService).issue({ sub: 'somebody', role: 'reader' })
    const routes = host.host.view.routes().filter((route) => route.plugin === 'worker-health')
    assert.equal(routes.length, 4)
    for (const { method, path } of routes) {
      const target = { method, path: path.replaceAll(/:\w+/g, 'known') }
      assert.deepEqual((await host.inject(target)).status, 401, `${method} ${path}`)
      assert.deepEqual((await host.inject({ ...target, headers: { authorization: `Bearer ${token}` } })).status, 403, `${method} ${path}`)
    }
    await host.stop()
  })

  it('and its command are not registered with WORKERS_ENABLED=false', async () => {
    const plugins = [database(), kv(), cluster(), ops(), workers(), workerHealth()]
    const host = await createTestHost({ services: [noQueues], plugins, env: { WORKERS_ENABLED: 'false' } })
    assert.deepEqual(
      host.host.view.routes().filter(({ path }) => path.startsWith('/api/workers')),
      [],
    )
    assert.deepEqual(
      host.host.commands().filter(({ command }) => command.name.startsWith('worker:')),
      [],
    )
    await host.stop()
  })
})

describe('monitoring/start of a stopped worker that no node can run', () => {
  it('responds with 200, because there is nothing to wait for', async () => {
    const plugins = [database(), kv(), cluster(), ops(), workers(), workerHealth()]
    const host = await createTestHost({ services: [noQueues], plugins, env: { WORKER_ENABLED: 'false' } })
    await host.service(workersService).create({ name: 'stopped', queueName: 'stopped', processor: () => 1 })
    const path = '/api/workers/stopped/monitoring/start'
    const { status, body } = await host.inject({ method: 'POST', path, headers: { 'x-requested-with': 'test' } })
    assert.deepEqual([status, body.operation.state, body.worker.monitored], [200, 'applied', true])
    await host.stop()
  })
})

describe('the options of worker-health', () => {
  let hoursLater = 0
  const clock = { now: () => Date.now() + hoursLater * 3_600_000, monotonic: () => performance.now() }
  let host: TestHost
  let check: () => Promise<{ healthy: boolean }> = async () => ({ healthy: true })
  let checked: (result: CheckOutcome) => void = () => {}
  let called: (worker: string) => void = () => {}
  const call = (method: string, path: string) =>
    host.inject({ method, path: `/api/workers/checked/${path}`, headers: { 'x-requested-with': 'test' } })
  const nextCheck = (): Promise<CheckOutcome> =>
    new Promise((resolve) => {
      checked = resolve
    })
  const nextCriticalCall = (): Promise<string> =>
    new Promise((resolve) => {
      called = resolve
    })

  before(async () => {
    host = await createTestHost({
      plugins: [
        database(),
        kv(),
        cluster(),
        queues(),
        ops(),
        workers({ processors: { checked: () => 1 }, healthChecks: { checked: () => check() } }),
        workerHealth({
          failureThreshold: 1,
          timeoutMs: 20,
          historyHours: 1,
          criticalCallback: (worker) => {
            called(worker)
            return new Promise(() => {})
          },
        }),
      ],
      hooks: { onHealthCheck: (_worker, result) => checked(result) },
      env: { WORKER_AUTO_START: 'true', WORKER_HEALTH_CHECK_INTERVAL: '1' },
      clock,
    })
    await host.service(workersService).create({ name: 'checked', queueName: 'checked', features: { healthMonitoring: true } })
  })
  after(() => host.stop())

  it('abort a check after timeoutMs, make its worker FAILED after failureThreshold failures, and bound the criticalCallback', async () => {
    assert.equal((await nextCheck()).healthy, true)
    check = () => new Promise(() => {})
    const critical = nextCriticalCall()
    const { healthy, error } = await nextCheck()
    assert.deepEqual([healthy, error], [false, 'no response within 20 ms'])
    assert.equal(await critical, 'checked')
    assert.equal((await call('GET', 'status')).body.status.state, 'FAILED')

    // The callback never ends; checks go on all the same.
    check = async () => ({ healthy: true })
    assert.equal((await call('POST', 'restart')).body.worker.state, 'running')
    assert.equal((await nextCheck()).healthy, true)
  })

  it('return no history older than historyHours', async () => {
    assert.notDeepEqual((await call('GET', 'monitoring/history?hours=24')).body.history, [])
    await call('POST', 'monitoring/stop')
    hoursLater = 1.01
    assert.deepEqual((await call('GET', 'monitoring/history?hours=24')).body.history, [])
  })
})
