import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { apiOf, canaryApp } from './testing/app-files.js'

const run = randomUUID().slice(0, 8)

describe('a canary on Redis with three processes', () => {
  const env = {
    APP_NAME: `canary-${run}`,
    REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
    WORKER_PERSISTENCE_DRIVER: 'kvstore',
    CLUSTER_HEARTBEAT_MS: '1000',
  }
  let app: AppFolder
  let leader: RunningApp
  let others: readonly RunningApp[]
  before(async () => {
    app = await appFolder(canaryApp)
    // The first one takes the role.
    leader = await app.start(env)
    others = await Promise.all([app.start(env), app.start(env)])
  })
  after(() => app.remove())

  it('continues when its leader is killed: the next leader rolls it back, and no job is lost', async () => {
    const name = `three-${run}`
    const api = apiOf(others[0]?.url ?? '')
    await api.create(name)
    const started = await api.call('POST', `/api/workers/${name}/canary/start`, { newVersion: '2.0.0', duration: 3_600_000, steps: [30] })
    assert.deepEqual([started.status, started.body.operation.applied.length], [200, 3])
    const { canary } = started.body
    for (const job of await Promise.all(Array.from({ length: 30 }, () => api.run(name, null)))) assert.equal(job.status, 'completed')

    await leader.kill()
    const { id, state, step, trafficPercentage } = (await api.call('GET', `/api/workers/${name}/canary/status`)).body.canary
    assert.deepEqual([id, state, step, trafficPercentage], [canary.id, 'RUNNING', 1, 30])

    await writeFile(join(app.folder, 'fails'), '')
    let over = false
    const rolledBack = api.reaches(name, 'ROLLED_BACK').finally(() => {
      over = true
    })
    const ids: string[] = []
    while (!over) ids.push(...(await Promise.all(Array.from({ length: 10 }, () => api.run(name, null)))).map((job) => job.id))
    const last = await rolledBack
    assert.deepEqual([last.id, last.trafficPercentage, last.verdict], [canary.id, 0, 'FAIL'])
    // Counted in two processes, and told by each.
    for (const { url } of others) {
      const { canary: told } = (await apiOf(url).call('GET', `/api/workers/${name}/canary/status`)).body
      const [error] = told.canary.errors
      assert.deepEqual([error.class, error.message, error.count], ['Error', 'broken', told.canary.failed])
    }
    const replayed = await api.call('POST', `/api/workers/${name}/canary/replay`)
    assert.equal(replayed.body.replayed, last.casualties.recorded)
    for (const job of ids) {
      for (;;) {
        const { status } = (await api.call('GET', `/api/workers/${name}/jobs/${job}`)).body.job
        if (status === 'completed') break
        assert.notEqual(status, 'failed')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  })

  it('pauses while a process cannot load the version, and promotes a good version in all processes', async () => {
    const name = `promoted-${run}`
    const api = apiOf(others[0]?.url ?? '')
    await rm(join(app.folder, 'fails'), { force: true })
    await api.create(name)
    const start = { newVersion: '2.0.0', duration: 2_000, steps: [50], successThreshold: 0 }
    assert.equal((await api.call('POST', `/api/workers/${name}/canary/start`, start)).status, 200)

    await rename(join(app.folder, 'processors/two.mjs'), join(app.folder, 'two.mjs'))
    const third = await app.start(env)
    const paused = await api.reaches(name, 'PAUSED')
    assert.deepEqual([paused.pausedFor, paused.trafficPercentage], ['nodes-missing', 50])
    assert.match(paused.history.at(-1).reason, /cannot run version 2\.0\.0: .*two\.mjs/)
    await third.kill()
    await rename(join(app.folder, 'two.mjs'), join(app.folder, 'processors/two.mjs'))
    await app.start(env)

    for (;;) {
      const { canary } = (await api.call('GET', `/api/workers/${name}/canary/status`)).body
      if (canary.state === 'SUCCEEDED') break
      assert.ok(!canary.state.startsWith('ROLL'), canary.history.at(-1)?.reason)
      // It may be slower than its steps, and the dead process is missed until its lease ends.
      if (canary.state === 'PAUSED') await api.call('POST', `/api/workers/${name}/canary/resume`)
      await Promise.all(Array.from({ length: 20 }, () => api.call('POST', `/api/workers/${name}/jobs`, { data: null })))
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const { canary } = (await api.call('GET', `/api/workers/${name}/canary/status`)).body
    assert.deepEqual([canary.verdict, canary.canary.failed, canary.casualties.recorded], ['PASS', 0, 0])
    await eventually('all three run it', async () => {
      const { nodes } = (await api.call('GET', `/api/workers/${name}/nodes`)).body
      const running = nodes.filter(({ state }: { state: string }) => state === 'running')
      return running.length === 3 && running.every(({ version }: { version: string }) => version === '2.0.0')
    })
    assert.equal((await api.run(name, null)).result, 'two')
  })
})
