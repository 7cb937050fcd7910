import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

interface App {
  readonly host: TestHost
  readonly service: Workers
  /** Id of its node. */
  readonly node: string
}

/** A worker without clustering on several nodes that share servers. */
export function aloneContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`a worker without clustering on ${title}`, { timeout: 60_000 }, () => {
    /** Nodes that run one function; each run is noted. */
    const scene = (t: TestContext) => {
      const name = `alone-${randomUUID().slice(0, 8)}`
      const now = new Map<string, number>()
      const together: string[] = []
      const ran: { readonly job: unknown; readonly on: string }[] = []
      const gate = { began: signal(), release: signal() }
      const boot = async (more: Readonly<Record<string, string>> = {}): Promise<App> => {
        let on = ''
        const host = await createTestHost({
          plugins: [
            database(),
            kv(),
            cluster(),
            queues(),
            ops(),
            workers({
              processors: {
                [name]: async ({ data }) => {
                  now.set(on, (now.get(on) ?? 0) + 1)
                  const busy = [...now].filter(([, jobs]) => jobs > 0).map(([node]) => node)
                  if (busy.length > 1) together.push(busy.join(' and '))
                  ran.push({ job: data, on })
                  if (data === 'long') {
                    gate.began.fire()
                    await gate.release.promise
                  }
                  now.set(on, (now.get(on) ?? 0) - 1)
                },
              },
            }),
          ],
          env: {
            ...env,
            WORKER_AUTO_START: 'true',
            WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
            WORKER_PERSISTENCE_TABLE: name.replaceAll('-', '_'),
            CLUSTER_NAME: name,
            CLUSTER_HEARTBEAT_MS: '1000',
            ...more,
          },
        })
        t.after(() => host.stop())
        const service = host.service(workersService)
        on = service.local.node
        return { host, service, node: on }
      }
      const owners = async ({ service }: App) =>
        (await service.nodesOf(name)).filter(({ state }) => state === 'running').map(({ node }) => node)
      return { name, boot, owners, ran, together, gate }
    }

    it('stays on the node that runs it when nodes join', async (t) => {
      const { name, boot, owners } = scene(t)
      const first = await boot()
      await first.service.create({ name, queueName: name, features: { clustering: false } })
      assert.deepEqual(await owners(first), [first.node])
      // Without a hold, each of them would take it with a probability of a half, a third and so on.
      for (let n = 0; n < 4; n++) {
        const next = await boot()
        await eventually('it knows the others', async () => (await next.service.nodes()).length === n + 2)
        const { operation } = await next.service.restart(name)
        assert.deepEqual([operation.targets, operation.applied], [[first.node], [first.node]])
        assert.deepEqual(await owners(next), [first.node])
      }
    })

    it('runs on the next node once the jobs of the one that stops have ended', async (t) => {
      const { name, boot, gate, owners, ran, together } = scene(t)
      const first = await boot()
      await first.service.create({ name, queueName: name, features: { clustering: false } })
      await first.service.enqueue(name, 'long')
      await gate.began.promise
      const second = await boot()
      const stopped = first.host.stop()
      await eventually('the first one leaves', async () => (await second.service.get(name)).state === 'stopping')
      await second.service.enqueue(name, 'short')
      // Whatever the successor does meanwhile, it does not take the job.
      const { operation } = await second.service.update(name, { jobOptions: { attempts: 2 } }, { waitMs: 500 })
      assert.equal(operation.state, 'pending')
      assert.equal(ran.length, 1)
      gate.release.fire()
      await stopped
      await eventually('the second one takes the job', () => ran.length === 2)
      assert.deepEqual([ran[1]?.on, together, await owners(second)], [second.node, [], [second.node]])
      await eventually('the operation has ended', async () => (await second.service.operation(name, operation.id)).state === 'applied')
    })

    it('moves to another node when its node drains, and not back when that ends', async (t) => {
      const { name, boot, gate, owners, ran, together } = scene(t)
      const [first, second] = [await boot(), await boot()]
      await first.service.create({ name, queueName: name, features: { clustering: false } })
      const [owner] = await owners(first)
      const [on, other] = owner === first.node ? [first, second] : [second, first]
      await on.service.enqueue(name, 'long')
      await gate.began.promise
      const { busy, draining } = await other.service.drain(on.node, true)
      assert.deepEqual([draining, busy], [true, 1])
      await eventually('it finishes its job', async () => (await other.service.get(name)).state === 'stopping')
      await other.service.enqueue(name, 'short')
      gate.release.fire()
      await eventually('the other one takes the job', () => ran.length === 2)
      assert.deepEqual([ran[1]?.on, together], [other.node, []])
      await other.service.drain(on.node, false)
      const { operation } = await on.service.restart(name)
      assert.deepEqual([operation.applied, await owners(other)], [[other.node], [other.node]])
    })

    it('runs on one node after it ran on all, and on all again', async (t) => {
      const { name, boot, owners } = scene(t)
      const [first] = [await boot(), await boot()]
      await first.service.create({ name, queueName: name })
      await eventually('both run it', async () => (await owners(first)).length === 2)
      await first.service.update(name, { features: { clustering: false } })
      await eventually('one runs it', async () => (await owners(first)).length === 1)
      await first.service.update(name, { features: {} })
      await eventually('both run it again', async () => (await owners(first)).length === 2)
    })

    it('moves to a node that can start it', async (t) => {
      const { name, boot, owners } = scene(t)
      const [first, second] = [await boot(), await boot()]
      await first.service.create({ name, queueName: name, features: { clustering: false } })
      const [owner] = await owners(first)
      const [on, other] = owner === first.node ? [first, second] : [second, first]
      await on.service.local.fail(name, new Error('its checks failed'))
      await eventually('the other one runs it', async () => (await owners(other)).join() === other.node)
      assert.equal((await other.service.get(name)).state, 'running')
    })
  })
}
