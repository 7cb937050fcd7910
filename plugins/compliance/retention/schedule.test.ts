import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { type Cluster, clusterService } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { type Queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, fake, fakeClock } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { compliance, complianceService } from '../index.js'

const minuteMs = 60_000
const cleanedAtOnce = 500

/** An app whose leadership is controlled, with a queue of the given number of old jobs. */
async function retentionApp(t: TestContext, old: number) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const clock = fakeClock()
  const role = { leads: false, current: true }
  let left = old
  const clean = async (_grace: number, limit: number, state: string) => {
    const gone = state === 'completed' ? Math.min(left, limit) : 0
    left -= gone
    return Array.from({ length: gone }, (_, n) => String(n))
  }
  const leadership = {
    get leads() {
      return role.leads
    },
    epoch: 1,
    tried: Promise.resolve(),
    resign: async () => undefined,
  }
  const node = { id: 'one', host: 'here', pid: 1, startedAt: 0, labels: {} }
  const host = await createTestHost({
    plugins: [database(), kv(), ops(), compliance()],
    services: [
      fake<Cluster>(clusterService, { node, lead: () => leadership, isCurrent: async () => role.current, readNodes: async () => [] }),
      fake<Queues>(queuesService, { names: async () => ['big'], queue: () => ({ clean }) as never }),
    ],
    env: { APP_KEY: 'k'.repeat(32), WORKER_ENCRYPTION: 'false' },
    clock,
  })
  t.after(() => host.stop())
  const service = host.service(complianceService)
  return {
    host,
    role,
    left: () => left,
    runs: async () => (await service.entries({ action: 'retention.purge' })).pagination.total,
    pass: async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        clock.advance(minuteMs)
        t.mock.timers.tick(minuteMs)
        // What was due has begun, and has written its entry when it has ended.
        await service.entries()
      }
    },
  }
}

it('retention runs once an hour, on the leader', async (t) => {
  const { pass, role, runs } = await retentionApp(t, 0)
  await pass(61)
  assert.equal(await runs(), 0)
  Object.assign(role, { leads: true, current: false })
  await pass(61)
  assert.equal(await runs(), 0)
  role.current = true
  await pass(1)
  await eventually('it has run', async () => (await runs()) === 1)
  await pass(58)
  assert.equal(await runs(), 1)
  await pass(2)
  await eventually('it has run again', async () => (await runs()) === 2)
})

it('retention makes at most a hundred deletions per run, and continues a minute later', async (t) => {
  const { host, left, pass, role, runs } = await retentionApp(t, 100 * cleanedAtOnce + 700)
  const { body } = await host.inject({ method: 'POST', path: '/api/compliance/retention/run', headers: { 'x-requested-with': 'test' } })
  assert.deepEqual([body.jobs, body.more, left()], [100 * cleanedAtOnce, true, 700])
  role.leads = true
  await pass(1)
  await eventually('it has run', async () => (await runs()) === 2)
  assert.equal(left(), 0)
})
