import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ApiHost, type Backend, startApi } from './testing/api-host.js'

type From = 'stopped' | 'running' | 'paused' | 'FAILED'

interface Transition {
  readonly from: From
  /** Path after that of the worker, or the fields of an update. */
  readonly by: string | object
  readonly to: From
  /** 409 or 410: rejected, so nothing changes. Default 200. */
  readonly status?: number
  /** Nothing had to change, so the generation stays. */
  readonly idle?: true
}

const transitions: readonly Transition[] = [
  { from: 'stopped', by: 'start', to: 'running' },
  { from: 'stopped', by: 'restart', to: 'running' },
  { from: 'stopped', by: 'stop', to: 'stopped' },
  { from: 'stopped', by: 'pause', to: 'stopped', status: 409 },
  { from: 'stopped', by: 'resume', to: 'stopped', status: 409 },
  { from: 'stopped', by: 'versions/1.0.0/activate', to: 'stopped' },
  { from: 'running', by: 'start', to: 'running', idle: true },
  { from: 'running', by: 'restart', to: 'running' },
  { from: 'running', by: 'stop', to: 'stopped' },
  { from: 'running', by: 'pause', to: 'paused' },
  { from: 'running', by: 'resume', to: 'running' },
  { from: 'running', by: 'monitoring/start', to: 'running' },
  { from: 'running', by: { concurrency: 2 }, to: 'running' },
  { from: 'running', by: { queueName: 'another-queue' }, to: 'running' },
  { from: 'running', by: { activeStatus: false }, to: 'stopped' },
  { from: 'paused', by: 'resume', to: 'running' },
  { from: 'paused', by: 'start', to: 'running' },
  { from: 'paused', by: 'restart', to: 'running' },
  { from: 'paused', by: 'pause', to: 'paused' },
  { from: 'paused', by: 'stop', to: 'stopped' },
  { from: 'paused', by: { rateLimit: { max: 5, duration: 1000 } }, to: 'paused' },
  { from: 'FAILED', by: 'start', to: 'running' },
  { from: 'FAILED', by: 'restart', to: 'running' },
  { from: 'FAILED', by: 'versions/1.0.0/activate', to: 'running' },
  { from: 'FAILED', by: 'pause', to: 'FAILED', status: 409 },
  { from: 'FAILED', by: 'resume', to: 'FAILED', status: 409 },
  { from: 'FAILED', by: 'stop', to: 'stopped' },
  { from: 'FAILED', by: 'monitoring/stop', to: 'FAILED' },
  { from: 'FAILED', by: { concurrency: 2 }, to: 'FAILED' },
  { from: 'FAILED', by: { activeStatus: false }, to: 'stopped' },
]

/** The other fields of a view in each state. */
const views: Readonly<Record<From, object>> = {
  stopped: { state: 'stopped', status: 'inactive', desired: 'stopped', paused: false, lastError: undefined },
  running: { state: 'running', status: 'active', desired: 'running', paused: false, lastError: undefined },
  paused: { state: 'paused', status: 'inactive', desired: 'running', paused: true, lastError: undefined },
  FAILED: { state: 'FAILED', status: 'inactive', desired: 'running', paused: false, lastError: 'failed on purpose' },
}

interface View {
  readonly state: string
  readonly status: string
  readonly desired: string
  readonly paused: boolean
  readonly generation: number
  readonly observedGeneration: number
  readonly lastError?: string
}

/** Every state of a worker and the transitions between them, over HTTP. */
export function statesContract(api: () => ApiHost, backend: Backend): void {
  describe('its states', () => {
    let count = 0
    const create = async (more: object): Promise<string> => {
      const name = `state-${++count}-${api().run}`
      const answer = await api().call('POST', '/api/workers', { name, queueName: name, processor: 'job.mjs', ...more })
      assert.equal(answer.status, 201, answer.text)
      return name
    }
    const viewOf = async (name: string): Promise<View> => (await api().call('GET', `/api/workers/${name}`)).body.worker
    /** A worker in this state, and its generation. */
    const worker = async (from: From): Promise<readonly [name: string, generation: number]> => {
      const name = await create({ autoStart: from !== 'stopped' })
      if (from === 'paused') await api().call('POST', `/api/workers/${name}/pause`)
      if (from === 'FAILED') await api().service.local.fail(name, new Error('failed on purpose'))
      await known(name, (view) => view.state === from)
      return [name, from === 'paused' ? 2 : 1]
    }
    const known = (name: string, fits: (view: View) => boolean) => api().until(`/api/workers/${name}`, ({ worker: view }) => fits(view))
    const shows = (view: View, state: From, generation: number): void => {
      const { status, desired, paused, lastError } = view
      assert.deepEqual({ state: view.state, status, desired, paused, lastError }, views[state])
      assert.deepEqual([view.generation, view.observedGeneration], [generation, generation])
    }

    for (const [what, more, state] of [
      ['autoStart absent', {}, 'running'],
      ['autoStart null', { autoStart: null }, 'running'],
      ['autoStart true', { autoStart: true }, 'running'],
      ['autoStart false', { autoStart: false }, 'stopped'],
      ['activeStatus false', { activeStatus: false }, 'stopped'],
    ] as const) {
      it(`created with ${what} → ${state}`, async () => shows(await viewOf(await create(more)), state, 1))
    }

    it('created with a processor that does not load → FAILED, and stays so until it loads', async () => {
      const name = await create({ processor: 'broken.mjs' })
      for (const generation of [1, 2]) {
        const view = await viewOf(name)
        assert.deepEqual(
          [view.state, view.desired, view.generation, view.observedGeneration],
          ['FAILED', 'running', generation, generation],
        )
        assert.match(view.lastError ?? '', /broken on purpose/)
        if (generation === 1) assert.equal((await api().call('POST', `/api/workers/${name}/restart`)).status, 422)
      }
    })

    it('running, with a desired version that cannot run → paused and running again, and tries it when it is activated', async () => {
      const name = await create({ autoStart: false })
      const path = `/api/workers/${name}`
      await api().call('POST', `${path}/start`)
      await api().call('POST', `${path}/versions`, { version: '2.0.0', processor: 'broken.mjs' })
      assert.equal((await api().call('POST', `${path}/versions/2.0.0/activate`)).status, 422)
      const { status: shown } = (await api().call('GET', `${path}/status`)).body
      const { version, desiredVersion, processor } = (await api().call('GET', path)).body.worker
      assert.deepEqual([shown.version, shown.desiredVersion], ['1.0.0', '2.0.0'])
      assert.deepEqual([version, desiredVersion, processor], ['1.0.0', '2.0.0', 'job.mjs'])
      for (const [verb, state] of [
        ['pause', 'paused'],
        ['resume', 'running'],
      ] as const) {
        const { status, body } = await api().call('POST', `${path}/${verb}`)
        assert.deepEqual([status, body.worker.state, body.operation.failed], [200, state, []])
      }
      assert.equal((await api().call('POST', `${path}/versions/2.0.0/activate`)).status, 422)
      assert.equal((await api().call('POST', `${path}/versions/1.0.0/activate`)).status, 200)
      await api().call('DELETE', path)
    })

    for (const { from, by, to, status = 200, idle } of transitions) {
      const what = typeof by === 'string' ? by : `an update of ${Object.keys(by).join()}`
      it(`${from} → ${status === 200 ? to : status} by ${what}`, async () => {
        const [name, generation] = await worker(from)
        shows(await viewOf(name), from, generation)
        const path = `/api/workers/${name}`
        const answer = typeof by === 'string' ? await api().call('POST', `${path}/${by}`) : await api().call('PUT', path, by)
        assert.equal(answer.status, status, answer.text)
        const after = status === 200 && idle === undefined ? generation + 1 : generation
        if (status === 200) {
          shows(answer.body.worker, to, after)
          assert.deepEqual([answer.body.operation.generation, answer.body.operation.failed], [after, []])
        }
        shows(await viewOf(name), to, after)
        assert.equal((await api().call('GET', `${path}/status`)).body.status.state, to)
        assert.equal((await api().call('DELETE', path)).status, 200)
        assert.equal((await api().call('GET', path)).status, 404)
      })
    }

    it('running → FAILED by two failing checks → running by a restart only', async () => {
      const name = await create({ autoStart: false })
      let checks = 0
      let healthy = false
      const withdraw = api().service.registerHealthCheck(name, () => (checks++, healthy ? { healthy } : { healthy, error: 'disk is full' }))
      await api().call('POST', `/api/workers/${name}/start`)
      await api().call('POST', `/api/workers/${name}/monitoring/start`)
      const { worker: failed } = (await known(name, ({ state }) => state === 'FAILED')).body
      assert.match(failed.lastError, /2 consecutive health checks failed.*disk is full/)
      assert.deepEqual(
        [failed.status, failed.desired, failed.generation, failed.observedGeneration, checks],
        ['inactive', 'running', 3, 3, 2],
      )
      const { status } = (await api().call('GET', `/api/workers/${name}/status`)).body
      assert.deepEqual([status.state, status.health], ['FAILED', 0])
      healthy = true
      shows((await api().call('POST', `/api/workers/${name}/restart`)).body.worker, 'running', 4)
      await known(name, () => checks > 2)
      shows(await viewOf(name), 'running', 4)
      await api().call('DELETE', `/api/workers/${name}`)
      withdraw()
    })

    it('should run, and no node has reported → unknown', async (t) => {
      const other = await startApi(backend, { WORKER_ENABLED: 'false' })
      t.after(() => other.stop())
      const name = `lonely-${other.run}`
      const made = await other.call('POST', '/api/workers', { name, queueName: name, processor: 'job.mjs' })
      const { state, status, desired, generation, observedGeneration } = made.body.worker
      assert.deepEqual([state, status, desired, generation, observedGeneration], ['unknown', 'inactive', 'running', 1, 0])
      assert.equal((await other.call('GET', `/api/workers/${name}/status`)).body.status.health, 0)
      const restarted = await other.call('POST', `/api/workers/${name}/restart`)
      const { state: progress, targets } = restarted.body.operation
      assert.deepEqual([restarted.status, progress, targets, restarted.body.worker.state], [202, 'pending', [], 'unknown'])
      assert.match(restarted.body.message, /no live node/)
      const stopped = await other.call('POST', `/api/workers/${name}/stop`)
      assert.deepEqual([stopped.status, stopped.body.operation.state, stopped.body.worker.state], [200, 'applied', 'stopped'])
    })
  })
}
