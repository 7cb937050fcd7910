import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, fake } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { workers, workersService } from './index.js'

type Env = Readonly<Record<string, string>>
type Roles = readonly ('http' | 'worker')[]

describe('a node', () => {
  const rows: readonly (readonly [roles: Roles, env: Env, consumes: boolean])[] = [
    [['http', 'worker'], {}, true],
    [['worker'], {}, true],
    [['http'], {}, false],
    [[], {}, false],
    [['http', 'worker'], { DOCKER_WORKER: 'true' }, false],
    [['worker'], { DOCKER_WORKER: 'true' }, true],
    [['worker'], { WORKER_ENABLED: 'false' }, false],
    [['worker'], { WORKERS_ENABLED: 'false' }, false],
  ]
  for (const [roles, env, consumes] of rows) {
    const settings = Object.entries(env).map((entry) => entry.join('='))
    it(`${consumes ? 'runs' : 'does not run'} workers with ${[`roles ${roles.join(' and ') || 'none'}`, ...settings].join(', ')}`, async () => {
      const host = await createTestHost({
        services: [fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined })],
        plugins: [database(), kv(), cluster(), ops(), workers()],
        roles,
        env: { ...env, WORKER_REGION: 'eu-west-1' },
      })
      const nodes = await host.service(workersService).nodes()
      assert.deepEqual(
        nodes.map(({ alive, region, ...node }) => [alive, region, node.consumes]),
        [[true, 'eu-west-1', consumes]],
      )
      await host.stop()
    })
  }

  it('with DOCKER_WORKER=true serves HTTP and consumes nothing, and another one with the role worker does the jobs', async (t) => {
    const { boot, name } = await app(t)
    const http = await boot({ DOCKER_WORKER: 'true' }, ['http', 'worker'])
    const service = http.service(workersService)
    await service.create({ name, queueName: name, processor: 'job.mjs' })
    const started = await http.inject({ method: 'POST', path: `/api/workers/${name}/start`, headers: { 'x-requested-with': 'test' } })
    assert.deepEqual([started.status, started.body.operation.targets, started.body.worker.state], [202, [], 'unknown'])
    const { id } = await service.enqueue(name, 41)
    assert.equal((await service.job(name, id)).status, 'waiting')
    await http.stop()

    let done: (result: unknown) => void = () => undefined
    const result = new Promise((resolve) => {
      done = resolve
    })
    await boot({ DOCKER_WORKER: 'true' }, ['worker'], (value) => done(value))
    assert.equal(await result, 42)
  })

  it('runs only the workers of its region', async (t) => {
    const { boot, name } = await app(t)
    const host = await boot({ WORKER_REGION: 'eu-west-1' }, ['http', 'worker'])
    const service = host.service(workersService)
    const worker = (suffix: string, ...regions: string[]) =>
      service.create({ name: `${name}-${suffix}`, queueName: name, processor: 'job.mjs', placement: { regions } })
    assert.equal((await worker('here', 'us-east-1', 'eu-west-1')).state, 'running')
    assert.equal((await worker('there', 'us-east-1')).state, 'unknown')
    const moved = await service.update(`${name}-there`, { placement: { regions: ['eu-west-1'] } })
    assert.deepEqual([moved.worker.state, moved.operation.applied.length], ['running', 1])
    const away = await service.update(`${name}-here`, { placement: { regions: ['us-east-1'] } })
    assert.equal(away.worker.state, 'unknown')
    assert.deepEqual(
      (await service.nodesOf(`${name}-here`)).map(({ placed, state }) => [placed, state]),
      [[false, 'stopped']],
    )
  })
})

/** An app on data that outlives its processes. */
async function app(t: TestContext) {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-roles-'))
  const atEnd = cleanUp(t)
  atEnd(() => rm(rootDir, { recursive: true, force: true }))
  await writeProcessors(rootDir, { 'job.mjs': 'export default (job) => job.data + 1' })
  const boot = async (env: Env, roles: Roles, onResult: (value: unknown) => void = () => undefined) => {
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
      hooks: { onJobComplete: (_worker, _job, result) => onResult(result) },
      rootDir,
      dataDir: join(rootDir, 'data'),
      roles,
      env: { ...env, WORKER_AUTO_START: 'true', WORKER_PERSISTENCE_DRIVER: 'db' },
    })
    atEnd(async () => {
      if (host.host.view.state !== 'stopped') await host.stop()
    })
    return host
  }
  return { boot, name: 'by-role' }
}
