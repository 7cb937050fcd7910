import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { cluster, clusterService } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions, decisionsService } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { type Workers, workers, workersService } from 'zin/plugins/workers'
import { createTestHost, fake, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type ResourceSnapshot, resources } from './index.js'

const noQueues = fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined })
const headers = { 'x-requested-with': 'test' }

/** The behaviour of the plugin in an app of several processes, over HTTP. */
export function resourcesContract(title: string, env: Readonly<Record<string, string>>, processes: number): void {
  describe(`resources on ${title}`, () => {
    const name = `measured-${randomUUID().slice(0, 8)}`
    const app = `app-${randomUUID().slice(0, 8)}`
    const hosts: TestHost[] = []
    let service: Workers
    const boot = (more: Readonly<Record<string, string>> = {}) =>
      createTestHost({
        app: { name: app },
        services: [noQueues],
        plugins: [
          database(),
          kv(),
          cluster(),
          ops(),
          decisions(),
          workers({ processors: { [name]: () => 1 } }),
          resources({ intervalSeconds: 1, heap: 0.000001 }),
        ],
        env: { ...env, ...more },
      })
    const call = async (host: TestHost, method: string, path: string) => host.inject({ method, path: `/api/resources/${path}`, headers })
    const running = async (host: TestHost): Promise<boolean> => (await call(host, 'GET', 'current')).body.monitoring.running
    const all = (expected: boolean) => async () => (await Promise.all(hosts.map(running))).every((one) => one === expected)
    const measured = async (host: TestHost): Promise<readonly ResourceSnapshot[]> => (await call(host, 'GET', 'current')).body.current
    let first: TestHost

    before(async () => {
      for (let index = 0; index < processes; index++) hosts.push(await boot())
      first = hosts[0] as TestHost
      service = first.service(workersService)
    })
    after(async () => {
      for (const host of hosts) await host.stop()
    })

    it('does not monitor while no worker has the feature', async () => {
      await service.create({ name, queueName: name })
      const { body } = await call(first, 'GET', 'current')
      assert.deepEqual(body, {
        ok: true,
        monitoring: { running: false, reason: 'No worker has features.resourceMonitoring' },
        current: [],
      })
    })

    it('monitors every process as soon as one worker has the feature', async () => {
      await service.update(name, { features: { resourceMonitoring: true } })
      await eventually('all processes measure', all(true))
      await eventually('all processes have a snapshot', async () => (await measured(first)).length === processes)
      const [one] = await measured(first)
      assert.ok(one !== undefined)
      assert.ok(one.rss > 0 && one.heapUsed > 0 && one.heapUsed < one.heapLimit && one.rss < one.memoryLimit)
      assert.ok(one.cpuLimit > 0 && one.cpuCores >= 0 && one.eventLoopUtilization >= 0 && one.eventLoopUtilization <= 1)
      assert.ok(Number.isInteger(one.storeMs))
    })

    it('has a history with delays and garbage collection from the second snapshot on', async () => {
      await eventually('a snapshot with delays', async () => {
        const { body } = await call(first, 'GET', 'history?hours=1')
        return (
          body.resolution === 'fine' && body.history.some((one: ResourceSnapshot) => one.eventLoopDelayP99Ms !== null && one.gcMs !== null)
        )
      })
      const { history } = (await call(first, 'GET', 'history?hours=1')).body
      const times = history.map(({ at }: { at: string }) => Date.parse(at))
      assert.deepEqual(
        times,
        times.toSorted((a: number, b: number) => b - a),
      )
      const coarse = (await call(first, 'GET', 'history?hours=48')).body
      assert.equal(coarse.resolution, 'coarse')
      assert.equal(new Set(coarse.history.map(({ node }: { node: string }) => node)).size, processes)
      assert.deepEqual((await call(first, 'GET', 'history?node=nobody')).body.history, [])
      assert.equal((await call(first, 'GET', 'history?limit=1')).body.truncated, true)
    })

    it('raises alerts, records them as decisions and fires onResourceAlert', async () => {
      const { alerts } = (await call(first, 'GET', 'alerts')).body
      assert.deepEqual([...new Set(alerts.map(({ rule }: { rule: string }) => rule))], ['heap'])
      assert.equal(new Set(alerts.map(({ node }: { node: string }) => node)).size, processes)
      const [alert] = first.recorded('onResourceAlert').map(([one]) => one as { node: string; rule: string; state: string })
      assert.deepEqual([alert?.rule, alert?.state], ['heap', 'raised'])
      await first.service(decisionsService).flush()
      const { recent } = (await call(first, 'GET', 'alerts')).body
      const own = recent.find(({ subject }: { subject: string }) => subject === `node:${alert?.node}`)
      assert.deepEqual([own.kind, own.verdict, own.rule, own.acted], ['alert', 'raised', 'resources/heap', true])
      assert.match(own.reason, /^The heap is \d+ % full/)
    })

    it('returns trends of the last hour', async () => {
      await eventually('trends', async () => (await call(first, 'GET', 'trends')).body.trends.length > 0)
      const { trends } = (await call(first, 'GET', 'trends')).body
      const rss = trends.find(({ metric }: { metric: string }) => metric === 'rss')
      assert.ok(rss.level > 0 && rss.limit > rss.level && rss.forecast === undefined)
    })

    it('stops in all processes with the response of the specification, and stays stopped after a restart', async () => {
      const stopped = await call(first, 'POST', 'stop')
      assert.deepEqual([stopped.status, stopped.body], [200, { ok: true, message: 'Resource monitoring stopped' }])
      await eventually('all processes stop', all(false))
      assert.deepEqual(await measured(first), [])
      await first.service(decisionsService).flush()
      const { alerts, recent } = (await call(first, 'GET', 'alerts')).body
      assert.deepEqual(alerts, [])
      const node = first.service(clusterService).node.id
      const cleared = recent.find(({ subject }: { subject: string }) => subject === `node:${node}`)
      assert.deepEqual([cleared.verdict, cleared.rule], ['cleared', 'resources/heap'])
      assert.match(cleared.reason, /^Monitoring of the node was stopped\. Last state: The heap is/)
      if (Object.keys(env).length > 0) {
        const restarted = await boot()
        assert.equal(await running(restarted), false)
        await restarted.stop()
      }
      const started = await call(first, 'POST', 'start')
      assert.deepEqual([started.status, started.body], [200, { ok: true, message: 'Resource monitoring started' }])
      await eventually('all processes start', all(true))
    })

    it('stays started by an operator even if no worker has the feature', async () => {
      await service.update(name, { features: { resourceMonitoring: false } })
      assert.deepEqual((await call(first, 'GET', 'current')).body.monitoring, { running: true, reason: 'It was started by an operator' })
      await call(first, 'POST', 'stop')
      await eventually('all processes stop', all(false))
    })

    it('never monitors a process with WORKER_RESOURCE_MONITORING=false', async () => {
      await service.update(name, { features: { resourceMonitoring: true } })
      await call(first, 'POST', 'start')
      const off = await boot({ WORKER_RESOURCE_MONITORING: 'false' })
      assert.equal(await running(off), false)
      const refused = await call(off, 'POST', 'start')
      assert.deepEqual([refused.status, refused.body.code], [409, 'RESOURCE_MONITORING_DISABLED'])
      assert.equal(await running(off), false)
      await off.stop()
    })

    it('rejects invalid input', async () => {
      for (const path of ['history?hours=soon', 'history?hours=0', 'history?hours=721', 'history?limit=0', 'history?days=1']) {
        assert.equal((await call(first, 'GET', path)).body.code, 'VALIDATION_FAILED', path)
      }
    })
  })
}
