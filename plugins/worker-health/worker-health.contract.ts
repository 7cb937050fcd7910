import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { type CheckOutcome, workerHealth } from './index.js'

/** The behaviour of the plugin, over HTTP and with real workers. */
export function workerHealthContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`worker-health on ${title}`, () => {
    const run = randomUUID().slice(0, 8)
    let host: TestHost
    let healthy = true
    let checked: (result: CheckOutcome) => void = () => undefined
    let gaveUp: (name: string) => void = () => undefined
    const name = `checked-${run}`
    const call = async (method: string, path: string) => host.inject({ method, path, headers: { 'x-requested-with': 'test' } })
    const nextCheck = () =>
      new Promise<CheckOutcome>((resolve) => {
        checked = resolve
      })

    before(async () => {
      host = await createTestHost({
        plugins: [
          database(),
          kv(),
          cluster(),
          queues(),
          ops(),
          workers({
            processors: { [name]: () => 1 },
            healthChecks: { [name]: () => ({ healthy, details: { disk: 'full' }, error: 'disk is full' }) },
          }),
          workerHealth({ criticalCallback: (worker) => gaveUp(worker) }),
        ],
        hooks: { onHealthCheck: (_worker, result) => checked(result) },
        env: { ...env, WORKER_AUTO_START: 'true', WORKER_HEALTH_CHECK_INTERVAL: '1' },
      })
      await host.service(workersService).create({ name, queueName: name })
    })
    after(() => host.stop())

    it('checks nothing before monitoring starts', async () => {
      const { body } = await call('GET', `/api/workers/${name}/health`)
      assert.deepEqual(body, { ok: true, health: { name, score: 100, terms: [], monitored: false, checks: [] } })
      assert.deepEqual((await call('GET', `/api/workers/${name}/monitoring/history?hours=1`)).body, { ok: true, hours: 1, history: [] })
    })

    it('checks a worker from start to stop, and makes it FAILED after two failures', async () => {
      const first = nextCheck()
      const started = await call('POST', `/api/workers/${name}/monitoring/start`)
      assert.deepEqual([started.status, started.body.message], [200, `Worker "${name}" is monitored`])
      assert.equal((await first).healthy, true)

      healthy = false
      const critical = new Promise<string>((resolve) => {
        gaveUp = resolve
      })
      assert.equal(await critical, name)
      const { body } = await call('GET', `/api/workers/${name}/status`)
      assert.deepEqual([body.status.state, body.status.health], ['FAILED', 0])
      const [node] = (await call('GET', `/api/workers/${name}/nodes`)).body.nodes
      assert.match(node.error, /disk is full/)
      const { health } = (await call('GET', `/api/workers/${name}/health`)).body
      assert.deepEqual(
        health.terms.map((term: { name: string }) => term.name),
        ['failed'],
      )
      assert.deepEqual([health.checks[0].healthy, health.checks[0].failures, health.checks[0].details], [false, 2, { disk: 'full' }])

      const { history } = (await call('GET', `/api/workers/${name}/monitoring/history?hours=1`)).body
      assert.ok(history.length >= 3)
      assert.equal(history[0].node, node.node)
      assert.deepEqual(
        [history[0].healthy, history[0].error, history.at(-1).healthy, history.at(-1).error],
        [false, 'disk is full', true, null],
      )

      healthy = true
      const again = nextCheck()
      assert.equal((await call('POST', `/api/workers/${name}/restart`)).body.worker.state, 'running')
      assert.equal((await again).healthy, true)
      const stopped = await call('POST', `/api/workers/${name}/monitoring/stop`)
      assert.equal(stopped.status, 200)
      assert.equal((await call('GET', `/api/workers/${name}/health`)).body.health.monitored, false)
    })

    it('rejects unknown workers and invalid input', async () => {
      assert.equal((await call('GET', '/api/workers/nobody/health')).body.code, 'WORKER_NOT_FOUND')
      assert.equal((await call('GET', '/api/workers/nobody/monitoring/history')).body.code, 'WORKER_NOT_FOUND')
      assert.equal((await call('POST', '/api/workers/nobody/monitoring/start')).body.code, 'WORKER_NOT_FOUND')
      assert.equal((await call('GET', `/api/workers/${name}/monitoring/history?hours=soon`)).body.code, 'VALIDATION_FAILED')
    })
  })
}
