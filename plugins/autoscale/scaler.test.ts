import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FakeAppOptions, fakeApp, node } from './testing/fake-app.js'

const name = 'emails'
const worker = (autoscale: object = {}, features: Readonly<Record<string, boolean>> = { autoScaling: true }) => ({
  name,
  features,
  extensions: { autoscale: { enabled: true, minWorkers: 1, maxWorkers: 10, scaleUpThreshold: 100, scaleDownThreshold: 10, ...autoscale } },
})
const busy = { waiting: 500, ageMs: 5000, attempts: 300, runMs: 1000 }
const night = Date.parse('2026-01-15T23:00:00Z')
const noon = Date.parse('2026-01-15T12:00:00Z')

/** The concurrency of one process after the given number of seconds. */
async function after(seconds: number, given: FakeAppOptions): Promise<number | undefined> {
  const app = fakeApp({ workers: [worker()], ...given })
  await app.tick()
  await app.run(seconds)
  return app.view(name)?.scaled?.concurrency
}

describe('the autoscaler', () => {
  it('scales a worker up, with a decision, an event and a status', async () => {
    const app = fakeApp({ workers: [worker()], load: busy })
    await app.tick()
    assert.equal(app.view(name)?.scaled?.concurrency, 10)
    const [decision] = app.decisions
    assert.deepEqual(
      [decision?.kind, decision?.subject, decision?.verdict, decision?.acted, decision?.rule],
      ['scale', 'worker:emails', 'up', true, 'autoscale/backlog'],
    )
    assert.match(decision?.reason ?? '', /^From 1 to 2 workers: 500 jobs are waiting \(more than 100\), the oldest for 5 s; /)
    assert.deepEqual(
      app.scaled.map(({ direction, from, to, concurrency, decisionId }) => [direction, from, to, concurrency, decisionId]),
      [['up', 1, 2, 10, 'decision-1']],
    )
    const status = await app.status(name)
    assert.deepEqual(
      [status?.desired, status?.current, status?.backlog, status?.queueAgeSeconds, status?.dryRun, status?.decisionId],
      [2, 2, 500, 5, false, 'decision-1'],
    )
  })

  it('rereads the age of a queue if its oldest job was taken meanwhile, and shows the last known age if it stays unknown', async () => {
    const app = fakeApp({ workers: [worker()], load: { ...busy, taken: 2 } })
    await app.tick()
    assert.equal((await app.status(name))?.queueAgeSeconds, 5)
    Object.assign(app.load, { ageMs: 35_000, taken: 3 })
    await app.run(30)
    assert.equal((await app.status(name))?.queueAgeSeconds, 5)
    assert.match(app.decisions.at(-1)?.reason ?? '', /500 jobs are waiting \(more than 100\); /)
    await app.run(30)
    assert.equal((await app.status(name))?.queueAgeSeconds, 35)
  })

  it('spreads workers over the processes that can run it', async () => {
    assert.equal(await after(0, { load: { ...busy, nodes: [node('a'), node('b')] } }), 8)
    const placed = { ...worker(), placement: { nodes: 1 } }
    assert.equal(await after(0, { workers: [placed], load: { ...busy, nodes: [node('a'), node('b')] } }), 10)
    const regions = { ...worker(), placement: { nodes: 'all', regions: ['eu-west-1'] } } as ReturnType<typeof worker>
    assert.equal(await after(0, { workers: [regions], load: { ...busy, nodes: [node('a'), node('b', 'eu-west-1')] } }), 10)
    assert.equal(await after(0, { load: { ...busy, nodes: [{ ...node('a'), alive: false }] } }), undefined)
  })

  it('removes workers after the load has gone, never during a canary', async () => {
    const app = fakeApp({ workers: [worker()], load: busy })
    await app.tick()
    await app.run(60)
    const most = app.view(name)?.scaled?.concurrency ?? 0
    assert.ok(most > 10)
    Object.assign(app.load, { waiting: 0, attempts: 0, canary: true })
    await app.run(600)
    assert.equal(app.view(name)?.scaled?.concurrency, most)
    assert.match((await app.status(name))?.reason ?? '', /^A canary runs/)
    app.load.canary = false
    await app.run(600)
    assert.equal(app.view(name)?.scaled?.concurrency, 5)
    const directions = app.scaled.map(({ direction }) => direction)
    assert.equal(directions.filter((one, index) => index > 0 && one !== directions[index - 1]).length, 1)
  })

  const off: readonly (readonly [title: string, given: FakeAppOptions])[] = [
    ['without WORKER_AUTO_SCALING_ENABLED', { settings: { WORKER_AUTO_SCALING_ENABLED: false } }],
    ['without the feature', { workers: [worker({}, {})] }],
    ['with enabled: false', { workers: [worker({ enabled: false })] }],
    ['on a process that does not lead', { load: { ...busy, leads: false } }],
  ]
  for (const [title, given] of off)
    it(`scales nothing ${title}`, async () => assert.equal(await after(120, { load: busy, ...given }), undefined))

  it('records a dry run once per number, and changes nothing', async () => {
    const app = fakeApp({ workers: [worker()], load: busy, settings: { WORKER_AUTO_SCALING_DRY_RUN: true } })
    await app.tick()
    await app.run(120)
    assert.equal(app.view(name)?.scaled, undefined)
    assert.deepEqual(app.scaled, [])
    assert.deepEqual(
      app.decisions.map(({ acted, verdict }) => [acted, verdict]),
      [[false, 'up']],
    )
    assert.equal((await app.status(name))?.dryRun, true)
  })

  const settings: readonly (readonly [
    title: string,
    without: FakeAppOptions,
    withIt: FakeAppOptions,
    seconds: number,
    expected: readonly (number | undefined)[],
  ])[] = [
    ['WORKER_AUTO_SCALING_INTERVAL', {}, { settings: { WORKER_AUTO_SCALING_INTERVAL: 10 } }, 10, [10, 15]],
    ['evaluationInterval', {}, { workers: [worker({ evaluationInterval: 10_000 })] }, 10, [10, 15]],
    ['minWorkers', { load: {} }, { load: {}, workers: [worker({ minWorkers: 2 })] }, 0, [undefined, 10]],
    ['maxWorkers', {}, { workers: [worker({ maxWorkers: 3 })] }, 60, [20, 15]],
    ['scaleUpThreshold', {}, { workers: [worker({ scaleUpThreshold: 1000 })], load: { ...busy, attempts: 0 } }, 0, [10, undefined]],
    ['WORKER_OFF_PEAK_SCALING', { now: night }, { now: night, settings: { WORKER_OFF_PEAK_SCALING: true } }, 120, [30, 15]],
    [
      'WORKER_OFF_PEAK_SCHEDULE',
      { now: noon, settings: { WORKER_OFF_PEAK_SCALING: true } },
      { now: noon, settings: { WORKER_OFF_PEAK_SCALING: true, WORKER_OFF_PEAK_SCHEDULE: '11:00-13:00' } },
      120,
      [30, 15],
    ],
    [
      'WORKER_OFF_PEAK_REDUCTION',
      { now: night, settings: { WORKER_OFF_PEAK_SCALING: true } },
      { now: night, settings: { WORKER_OFF_PEAK_SCALING: true, WORKER_OFF_PEAK_REDUCTION: 0.5 } },
      120,
      [15, 25],
    ],
    [
      'timeZone',
      { now: night, settings: { WORKER_OFF_PEAK_SCALING: true } },
      { now: night, settings: { WORKER_OFF_PEAK_SCALING: true }, options: { timeZone: 'Asia/Tokyo' } },
      120,
      [15, 30],
    ],
    [
      'WORKER_COST_OPTIMIZATION_ENABLED',
      { load: { waiting: 1, ageMs: 90_000 } },
      { load: { waiting: 1, ageMs: 90_000 }, settings: { WORKER_COST_OPTIMIZATION_ENABLED: true } },
      0,
      [10, undefined],
    ],
    ['WORKER_SPOT_INSTANCES', { load: {} }, { load: {}, settings: { WORKER_SPOT_INSTANCES: true } }, 0, [undefined, 10]],
    [
      'drainSeconds',
      { load: { waiting: 1, ageMs: 30_000 } },
      { load: { waiting: 1, ageMs: 30_000 }, options: { drainSeconds: 20 } },
      0,
      [undefined, 10],
    ],
  ]
  for (const [title, without, withIt, seconds, expected] of settings) {
    it(`obeys ${title}`, async () => {
      assert.deepEqual([await after(seconds, { load: busy, ...without }), await after(seconds, { load: busy, ...withIt })], expected)
    })
  }

  it('obeys scaleDownThreshold and stabilizationSeconds', async () => {
    const rest = async (given: FakeAppOptions): Promise<number | undefined> => {
      const app = fakeApp({ workers: [worker()], load: busy, ...given })
      await app.tick()
      Object.assign(app.load, { waiting: 20, ageMs: 100, attempts: 0 })
      await app.run(200)
      return app.view(name)?.scaled?.concurrency
    }
    assert.equal(await rest({}), 10)
    assert.equal(await rest({ options: { stabilizationSeconds: 60 } }), 10)
    assert.equal(await rest({ options: { stabilizationSeconds: 60 }, workers: [worker({ scaleDownThreshold: 20 })] }), 5)
  })

  const minutes = (count: number): number => count * 60_000
  const single = { ...worker(), concurrency: 1 }
  const four = ['a', 'b', 'c', 'd'].map((id) => node(id))
  /** Four processes run a job of 20 minutes each; nothing has waited for a quarter of an hour. */
  async function busyApp(given: FakeAppOptions = {}) {
    const running = [16, 17, 18, 19].map(minutes)
    const app = fakeApp({ workers: [single], ...given, load: { nodes: four, running, ...given.load } })
    await app.tick()
    await app.run(900)
    return app
  }

  it('asks for no fewer processes while their jobs run: all stay when one job is left, and the first goes when it has ended', async () => {
    const app = await busyApp()
    assert.equal((await app.status(name))?.desired, 4)
    app.load.running = [minutes(19)]
    await app.run(900)
    const status = await app.status(name)
    assert.deepEqual([status?.desired, status?.target, status?.running], [4, 3, 1])
    assert.match(status?.reason ?? '', /a job is running, for up to 1140 s \(longer than 30 s\), so no process should end/)
    app.load.running = []
    await app.run(60)
    assert.equal((await app.status(name))?.desired, 3)
  })

  it('counts jobs that started after the evaluation, in each answer', async () => {
    const app = await busyApp({ workers: [{ ...worker({ evaluationInterval: 3_600_000 }), concurrency: 1 }], load: { running: [] } })
    await app.run(3600)
    const before = { ...(await app.status(name)) }
    Object.assign(app.load, { running: [minutes(2), 1000] })
    const after = [await app.autoscale.get(name), await app.status(name), (await app.current())[0]]
    assert.deepEqual(
      [before.desired, ...after.map((status) => status?.desired)],
      [before.target, 4, 4, 4],
      JSON.stringify([before, ...after]),
    )
    assert.match(after[0]?.reason ?? '', /2 jobs are running, for up to 120 s/)
  })

  it('keeps the processes while the queues cannot be read, and while no status is known', async () => {
    const app = await busyApp({ load: { running: [], attempts: 10, runMs: 1000 } })
    assert.equal((await app.status(name))?.desired, 3)
    app.load.down = true
    const [status] = await app.current()
    assert.deepEqual([status?.desired, status?.running], [4, null])
    assert.match(status?.reason ?? '', /the running jobs could not be read, so no process should end/)
    app.load.down = false
    app.clock.advance(minutes(10))
    const { desired, reason } = await app.autoscale.get(name)
    assert.deepEqual([desired, reason], [4, 'The worker has not been evaluated yet'])
  })

  it('keeps the processes when another process takes the lead', async () => {
    const app = await busyApp()
    app.load.running = [minutes(19)]
    await app.run(600)
    app.load.leads = false
    await app.run(5)
    app.load.leads = true
    await app.run(1)
    assert.equal((await app.status(name))?.desired, 4)
  })

  it('keeps the processes of a worker that is scaled to a part of its concurrency while it is off', async () => {
    const app = await busyApp({ settings: { WORKER_AUTO_SCALING_ENABLED: false } })
    app.change(name, { concurrency: 10, scaled: { concurrency: 1, reason: '', at: '' } })
    assert.equal((await app.autoscale.get(name)).desired, 4)
  })

  it('does not multiply its capacity by the processes that the platform adds', async () => {
    const app = fakeApp({ workers: [single], load: { ...busy, nodes: [node('a')] } })
    await app.tick()
    await app.run(90)
    assert.equal(app.view(name)?.scaled?.concurrency, 10)
    app.load.nodes = Array.from({ length: 10 }, (_, index) => node(`pod-${index}`))
    await app.run(30)
    assert.equal(app.view(name)?.scaled?.concurrency, 1)
    const status = await app.status(name)
    assert.deepEqual([status?.desired, status?.current], [10, 10])
  })

  it('reads the signals of many workers in as many round trips as for one', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `worker-${index}`)
    const app = fakeApp({ workers: names.map((one) => ({ ...worker(), name: one })), load: busy })
    await app.tick()
    assert.deepEqual(app.calls, { list: 1, counts: 1, countsOf: 1, oldestWaiting: 50, runningSince: 0, nodes: 1, set: 1 })
    assert.equal((await app.autoscale.list()).length, 100)
    await app.run(1)
    assert.equal(app.calls.list, 1)
  })
})
