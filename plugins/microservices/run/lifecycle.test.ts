import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from 'zin'
import { memoryLogger } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { assemble } from '../assemble.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import { microservicesOptions } from '../options.js'
import { Scopes } from '../tracing/scopes.js'
import { restartWait } from './restart-wait.js'
import type { Runner } from './runner.js'

const definition: ServiceDefinition = {
  name: 'orders',
  domain: 'shop',
  version: '1.0.0',
  description: '',
  source: 'discovered',
  dependencies: [],
  healthCheck: '/health',
  auth: 'none',
  database: { isolation: 'shared', migrations: false },
  tracing: { enabled: false, samplingRate: 1 },
  urls: ['http://127.0.0.1:3001'],
  local: { folder: 'x', host: '127.0.0.1', ports: [3001], process: 'own' },
}

/** Fake processes: the test ends them, lets them start, or makes their start fail. */
class FakeProcesses {
  alive = 0
  starts = 0
  lose: (reason: string) => void = () => undefined
  gate: Promise<unknown> = Promise.resolve()
  failures = 0

  readonly runner: Runner = async (_port, onLost) => {
    this.starts++
    await this.gate
    if (this.failures-- > 0) throw new Error('it does not start')
    this.alive++
    let ended = false
    this.lose = (reason) => {
      ended = true
      this.alive--
      onLost(reason)
    }
    return {
      pid: this.starts,
      stop: async () => {
        if (!ended) this.alive--
        ended = true
      },
    }
  }
}

function start(t: TestContext, restarts = microservicesOptions.defaults.restarts) {
  const processes = new FakeProcesses()
  const lost: string[] = []
  const { manager, register } = assemble({
    options: { ...microservicesOptions.defaults, restarts },
    auth: {
      secrets: { SERVICE_API_KEY: '', SERVICE_JWT_SECRET: '', SERVICE_SIGNING_SECRET: '' },
      caller: 'test',
      clock: systemClock,
      custom: {},
      takeNonce: async () => undefined,
    },
    scopes: new Scopes(),
    tracing: definition.tracing,
    clock: systemClock,
    random: () => 0,
    log: memoryLogger(),
    runner: () => processes.runner,
    onLost: (_service, instance, reason) => lost.push(`${instance.id}: ${reason}`),
  })
  register([definition])
  t.after(() => manager.stopAll())
  return { manager, processes, lost, state: () => manager.list()[0]?.state }
}

describe('instances in child processes', () => {
  it('are restarted when they exit, also if the first attempts fail', async (t) => {
    const { lost, manager, processes, state } = start(t)
    await manager.startService('orders')
    processes.failures = 2
    processes.lose('killed')
    assert.equal(state(), 'starting')
    await eventually('it runs again', () => state() === 'running')
    assert.deepEqual([processes.starts, processes.alive, lost], [4, 1, ['orders-1: killed']])
    assert.equal(manager.list()[0]?.instances[0]?.restarts, 3)
  })

  it('are not restarted after a stop, whether it comes before or during a restart', async (t) => {
    const { manager, processes, state } = start(t)
    await manager.startService('orders')
    processes.lose('killed')
    await manager.stopService('orders')
    assert.deepEqual([state(), processes.starts], ['stopped', 1])

    await manager.startService('orders')
    let open = (): void => undefined
    processes.gate = new Promise<void>((resolve) => {
      open = resolve
    })
    processes.lose('killed')
    await eventually('the restart is under way', () => processes.starts === 3)
    const stop = manager.stopService('orders')
    open()
    await stop
    assert.deepEqual([state(), processes.alive], ['stopped', 0])
  })

  it('are restarted when their first start fails, as the listing shows, until restarts are used up', async (t) => {
    const { manager, processes, state } = start(t, 2)
    processes.failures = 1
    await assert.rejects(manager.startService('orders'), { code: 'SERVICE_START_FAILED' })
    const [waiting] = manager.list()[0]?.instances ?? []
    assert.deepEqual([waiting?.state, waiting?.reason, waiting?.retry?.attempt, waiting?.retry?.of], ['failed', 'it does not start', 1, 2])
    await eventually('it runs', () => state() === 'running')
    assert.deepEqual([processes.starts, manager.list()[0]?.instances[0]?.retry], [2, undefined])
    await manager.stopService('orders')

    processes.failures = 100
    await assert.rejects(manager.startService('orders'))
    await eventually('it gives up', () => /not restarted automatically/.test(manager.list()[0]?.instances[0]?.reason ?? ''))
    assert.deepEqual([state(), processes.starts], ['failed', 5])

    processes.failures = 0
    await manager.startService('orders')
    assert.equal(state(), 'running')
  })

  it('wait longer each time, up to 30 s', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 7, 8, 1000].map((attempt) => restartWait(attempt, 1)),
      [200, 400, 800, 1600, 25_600, 30_000, 30_000],
    )
    assert.equal(restartWait(0, 0), 160)
  })
})
