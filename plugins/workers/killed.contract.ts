import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { eventually } from '../../scripts/testing/eventually.js'
import { forkApp } from '../../scripts/testing/forked-app.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'

const app = new URL('./testing/app-child.ts', import.meta.url)

/** A process that is killed, and the next one, which starts before the lease of the first has ended. */
export function killedContract(title: string, stores: Readonly<Record<string, string>>): void {
  describe(`after a kill of the only process on ${title}`, { timeout: 90_000 }, () => {
    it('a worker with autoStart false stays stopped, one with it runs, and operations end', async (t) => {
      const rootDir = await mkdtemp(join(tmpdir(), 'zin-killed-'))
      t.after(() => rm(rootDir, { recursive: true, force: true }))
      await writeProcessors(rootDir, {
        'ok.mjs': 'export default () => 1',
        'hangs.mjs': 'await new Promise(() => setTimeout(() => 0, 1e6))',
      })
      const run = randomUUID().slice(0, 8)
      const env = { APP_NAME: `killed-${run}`, CLUSTER_NAME: `killed-${run}`, WORKER_AUTO_START: 'true', ...stores }
      const start = async () => {
        const started = await forkApp({ app, env, rootDir })
        t.after(() => started.stop())
        return started
      }
      const names = { asked: `asked-${run}`, own: `own-${run}`, alone: `alone-${run}`, hangs: `hangs-${run}` }
      const first = await start()
      const created = async (name: string, more: object = {}) => {
        const answer = await first.call('POST', '/api/workers', { name, queueName: name, processor: 'ok.mjs', ...more })
        assert.equal(answer.status, 201, JSON.stringify(answer.body))
      }
      await created(names.own)
      await created(names.alone, { features: { clustering: false } })
      await created(names.asked, { autoStart: false })
      await created(names.hangs, { autoStart: false, processor: 'hangs.mjs' })
      assert.equal((await first.call('POST', `/api/workers/${names.asked}/start`)).body.worker.state, 'running')
      const { operation } = (await first.call('POST', `/api/workers/${names.hangs}/start?wait=0`)).body
      assert.equal(operation.state, 'pending')
      await first.kill()

      const second = await start()
      const here = async (name: string): Promise<string | undefined> => {
        const { nodes } = (await second.call('GET', `/api/workers/${name}/nodes`)).body
        return nodes.find(({ node }: { readonly node: string }) => node.split(':')[1] === `${second.pid}`)?.state
      }
      for (const name of [names.own, names.alone]) await eventually(`${name} runs`, async () => (await here(name)) === 'running')
      await eventually('the other one is known', async () => (await here(names.asked)) !== undefined)
      assert.equal(await here(names.asked), 'stopped')
      const stopped = await second.call('POST', `/api/workers/${names.hangs}/stop?wait=30000`)
      assert.deepEqual([stopped.status, stopped.body.worker.state], [200, 'stopped'], JSON.stringify(stopped.body))
      const path = `/api/workers/${names.hangs}/operations/${operation.id}`
      await eventually('the operation of the killed process has ended', async () => {
        const { state, targets } = (await second.call('GET', path)).body.operation
        return state !== 'pending' || targets.length === 0
      })
    })
  })
}
