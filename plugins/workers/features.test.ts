import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { type Queues, queues, queuesService } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type FailedJobView, type FeatureName, percentile, type Workers, workers, workersService } from './index.js'
import { defineWorkerFeature } from './record/define-feature.js'
import { actingPlacement } from './record/placement.js'
import { WorkerFeatures } from './record/worker-features.js'
import { workerRecord } from './testing/worker-record.js'

describe('features of a worker', () => {
  let host: TestHost
  let service: Workers
  let store: Queues
  let failed: (job: FailedJobView) => void = () => undefined
  before(async () => {
    host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
      hooks: { onJobFailed: (_worker, job) => job.final && failed(job) },
      env: { WORKER_AUTO_START: 'true' },
    })
    service = host.service(workersService)
    store = host.service(queuesService)
  })
  after(() => host.stop())

  /** The next job that fails permanently. */
  const nextFailure = (): Promise<FailedJobView> => new Promise((resolve) => (failed = resolve))
  const create = (name: string, features: Partial<Record<FeatureName, boolean>>) =>
    service.create({
      name,
      queueName: name,
      processor: (job) => Promise.reject(new Error(`no ${job.data}`)),
      features,
      jobOptions: { attempts: 2, backoff: { type: 'fixed', delay: 1 } },
    })

  const owned: readonly (readonly [feature: FeatureName, plugin: string])[] = [
    ['healthMonitoring', 'worker-health'],
    ['resourceMonitoring', 'resources'],
    ['observability', 'observability'],
    ['autoScaling', 'autoscale'],
    ['datacenter', 'autoscale'],
    ['circuitBreaker', 'breaker'],
    ['canary', 'canary'],
    ['compliance', 'compliance'],
  ]
  for (const [feature, plugin] of owned) {
    it(`reject ${feature} while the plugin ${plugin} is not enabled, and accept false for it`, async () => {
      const refusal = { code: 'FEATURE_UNAVAILABLE', status: 400, message: new RegExp(`"features.${feature}".*"${plugin}"`) }
      await assert.rejects(create('asks', { [feature]: true }), refusal)
      assert.deepEqual((await create('asks', { [feature]: false })).features, { [feature]: false })
      await assert.rejects(service.update('asks', { features: { [feature]: true } }), refusal)
      await service.remove('asks')
    })
  }

  it('accept healthMonitoring when worker-health is enabled', async () => {
    const monitoring = await createTestHost({ plugins: [database(), kv(), cluster(), queues(), ops(), workers(), workerHealth()] })
    const workersThere = monitoring.service(workersService)
    await workersThere.create({ name: 'watched', queueName: 'watched', processor: () => 1, features: { healthMonitoring: true } })
    assert.equal((await workersThere.health('watched')).monitored, true)
    await monitoring.stop()
  })

  it('count by minute unless metrics is false, and always in the totals', async () => {
    for (const [name, features, terms] of [
      ['counted', {}, 1],
      ['totals-only', { metrics: false }, 0],
    ] as const) {
      await create(name, features)
      const end = nextFailure()
      await service.enqueue(name, 'luck')
      await end
      assert.deepEqual([(await service.metrics(name)).failed, (await service.health(name)).terms.length], [2, terms], name)
    }
    const [counted, ...none] = await service.counts(['totals-only', 'counted', 'counted'], { byVersion: true })
    assert.ok(counted !== undefined && none.length === 0)
    const { totalMs, durations, ...attempts } = counted
    assert.deepEqual(attempts, { worker: 'counted', version: '1.0.0', completed: 0, failed: 2, lost: 0, timedOut: 0, cancelled: 0 })
    assert.equal(
      Object.values(durations).reduce((sum, times) => sum + times),
      2,
    )
    assert.ok((percentile(durations, 1) ?? 0) <= 1.1 * totalMs + 0.125)
  })

  it('reject queries of counts that cover too many workers, start too long ago or are malformed', async () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `worker-${n}`)
    const ago = (ms: number) => ({ since: Date.now() - ms })
    for (const [asked, options, message] of [
      [[...names, 'one-more'], {}, /at most 1000/],
      ['counted', {}, /list/],
      [['a\nb'], {}, /names/],
      [['counted'], ago(25 * 3_600_000), /24 hours/],
      [['counted'], { since: Number.NaN }, /ms since 1970/],
      [['counted'], { byVersion: 'yes' }, /"byVersion"/],
      [['counted'], { by: 1 }, /since, byVersion, byMinute/],
      [names, ago(86_400_000), /1000 names over 144[01] minutes/],
    ] as const) {
      await assert.rejects(service.counts(asked as never, options as never), { code: 'INVALID_COUNTS_QUERY', status: 400, message })
    }
    assert.deepEqual(await service.counts(names, ago(90 * 60_000)), [])
    assert.equal((await service.counts(['counted'], ago(86_400_000)))[0]?.failed, 2)
  })

  it('add a permanently failed job to the dead letter queue, once and with its history', async () => {
    await create('buries', { deadLetterQueue: true })
    const dead = async () => store.list('buries-dead', 'waiting', { offset: 0, limit: 10 })
    const buried = async () => {
      for (;;) {
        const letters = await dead()
        if (letters.length > 0) return letters
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    const end = nextFailure()
    const { id } = await service.enqueue('buries', 'luck', { name: 'mail' })
    await end
    const [letter] = await buried()
    const { stacktrace, addedAt, failedAt, options, ...data } = letter?.data as Record<string, unknown>
    assert.deepEqual(data, {
      worker: 'buries',
      queue: 'buries',
      id,
      name: 'mail',
      data: 'luck',
      attempts: 2,
      stalls: 0,
      error: 'no luck',
    })
    assert.equal((stacktrace as string[]).length, 2)
    assert.ok(Date.parse(String(addedAt)) <= Date.parse(String(failedAt)))
    assert.equal((options as { attempts: number }).attempts, 2)

    const again = nextFailure()
    await (await store.queue('buries').getJob(id))?.retry('failed')
    await again
    const other = nextFailure()
    await service.enqueue('buries', 'hope')
    await other
    for (;;) {
      const ids = (await dead()).map(({ data: { id: of } }) => of)
      if (ids.length > 1) {
        assert.equal(ids.filter((of) => of === id).length, 1)
        break
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const opts = { jobId: 'hidden', delay: 60_000, failParentOnFailure: true }
    const flow = { name: 'parent', queueName: 'buries', children: [{ name: 'child', queueName: 'elsewhere', opts }] }
    const { job: parent } = await store.addFlow(flow)
    const failed = nextFailure()
    await store.fail('elsewhere', 'hidden', 'of ada@example.com')
    await failed
    const find = async () => (await dead()).find(({ data: { id: of } }) => of === parent.id)
    await eventually('its parent is buried', async () => (await find()) !== undefined)
    const ofParent = await find()
    assert.equal(ofParent?.data.error, 'a child in another queue failed')
    assert.doesNotMatch(JSON.stringify(ofParent?.data), /elsewhere|hidden|ada/)
    assert.match(
      (await store.job('buries', parent.id ?? ''))?.job.failedReason ?? '',
      /^child elsewhere:hidden failed: of ada@example.com$/,
    )

    const without = nextFailure()
    await service.enqueue('counted', 'luck')
    await without
    assert.equal((await store.counts('counted-dead')).waiting, 0)
  })

  it('are shown as inactive while their plugin, or a feature that they need, is off', () => {
    const features = new WorkerFeatures()
    const stop = features.offer(defineWorkerFeature({ plugin: 'breaker', feature: 'circuitBreaker' }))
    features.offer(defineWorkerFeature({ plugin: 'canary', feature: 'canary' }))
    const on = { circuitBreaker: true, canary: true }
    assert.deepEqual(features.inactive(on), [])
    assert.deepEqual(features.inactive({ ...on, plugins: false }), ['circuitBreaker'])
    assert.deepEqual(features.inactive({ ...on, versioning: false }), ['canary'])
    stop()
    assert.deepEqual(features.inactive({ ...on, plugins: true }), ['circuitBreaker'])
  })

  it('restrict a worker to one node at a time when clustering is false', () => {
    const record = workerRecord('one', { placement: { nodes: 'all', regions: ['eu-west-1'] } })
    assert.deepEqual(actingPlacement(record), record.placement)
    assert.deepEqual(actingPlacement({ ...record, features: { clustering: false } }), { nodes: 1, regions: ['eu-west-1'] })
  })

  it('can name only the queue store of the app', async () => {
    const make = (infrastructure: object) =>
      service.create({ name: 'stored', queueName: 'stored', processor: () => 1, infrastructure } as never)
    for (const driver of ['redis', 'kvstore'])
      await assert.rejects(make({ driver }), { code: 'INVALID_INFRASTRUCTURE', message: /REDIS_URL is not set.*"embedded"/ })
    await assert.rejects(make({ redis: { env: true } }), { code: 'INVALID_REDIS_CONFIG', message: /REDIS_URL is not set/ })
    assert.equal((await make({ driver: 'embedded' })).infrastructure.driver, 'embedded')
  })

  it('show in the status that a tool has paused the whole queue', async () => {
    assert.equal((await service.status('stored')).queuePaused, false)
    await store.queue('stored').pause()
    assert.deepEqual([(await service.status('stored')).queuePaused, (await service.status('stored')).state], [true, 'running'])
  })
})
