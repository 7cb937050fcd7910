import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'
import { apiOf, canaryApp } from './testing/app-files.js'

describe('canaries of an app of one process', () => {
  let app: AppFolder
  let running: RunningApp
  before(async () => {
    app = await appFolder(canaryApp)
    running = await app.start()
  })
  after(() => app.remove())

  it('continue with the same cohort after the process was killed', async () => {
    const name = 'killed'
    const tenants = Array.from({ length: 24 }, (_, tenant) => ({ tenant }))
    const versions = async (api: ReturnType<typeof apiOf>) =>
      (await Promise.all(tenants.map((data) => api.run(name, data)))).map(({ result }) => result)
    const before = apiOf(running.url)
    await before.create(name)
    const start = { newVersion: '2.0.0', duration: 3_600_000, steps: [50], stickyBy: 'tenant' }
    const { canary } = (await before.call('POST', `/api/workers/${name}/canary/start`, start)).body
    assert.equal(canary.state, 'RUNNING')
    const cohort = await versions(before)
    assert.deepEqual(new Set(cohort), new Set(['one', 'two']))

    await running.kill()
    running = await app.start()
    const api = apiOf(running.url)
    const resumed = await api.reaches(name, 'RUNNING')
    assert.deepEqual([resumed.id, resumed.step, resumed.trafficPercentage], [canary.id, 1, 50])
    await api.call('POST', `/api/workers/${name}/start`)
    for (;;) {
      const { nodes } = (await api.call('GET', `/api/workers/${name}/nodes`)).body
      const living = nodes.find((node: { state: string; candidates?: readonly object[] }) => node.state === 'running' && node.candidates)
      if (living !== undefined) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    assert.deepEqual(await versions(api), cohort)
    assert.equal((await api.call('POST', `/api/workers/${name}/canary/rollback`)).status, 200)
  })

  it('are controlled from the command line', async () => {
    const name = 'commanded'
    await apiOf(running.url).create(name)
    const zin = async (...args: readonly string[]) => {
      const { code, err, out } = await app.zin([...args, '--json'])
      assert.deepEqual([code, err], [0, ''], args.join(' '))
      return JSON.parse(out)
    }
    const none = await app.zin(['canary:pause', name])
    assert.equal(none.code, 1)
    assert.match(none.err, /^zin canary:pause: Worker "commanded" has no canary.*\[NO_CANARY\]\n$/)
    assert.equal((await zin('canary:start', name, '2.0.0', '--traffic', '30', '--steps', '10,30')).canary.trafficPercentage, 10)
    assert.equal((await zin('canary:status', name)).state, 'RUNNING')
    assert.equal((await zin('canary:pause', name)).canary.state, 'PAUSED')
    assert.equal((await zin('canary:resume', name)).canary.state, 'RUNNING')
    assert.equal((await zin('canary:promote', name)).canary.trafficPercentage, 30)
    assert.equal((await zin('canary:rollback', name, '--reason', 'not today')).canary.state, 'ROLLED_BACK')
    assert.equal((await zin('canary:replay', name)).canary.casualties.replayed, 0)
    assert.deepEqual(
      (await zin('canary:history', name)).map(({ to }: { to: string }) => to),
      ['PENDING', 'RUNNING', 'PAUSED', 'RUNNING', 'RUNNING', 'ROLLING_BACK', 'ROLLED_BACK'],
    )
    const refused = await app.zin(['canary:start', name, '2.0.0'])
    assert.match(refused.err, /not today.*\[CANARY_VERSION_REFUSED\]\n$/)
    await zin('canary:start', name, '2.0.0', '--force')
    assert.equal((await zin('canary:complete', name)).canary.state, 'SUCCEEDED')
    const plain = await app.zin(['canary:status', name])
    assert.match(plain.out, /^commanded: version 2\.0\.0 against stable version 1\.0\.0\n {2}SUCCEEDED, /)
  })
})
