import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { eventually } from '../../../scripts/testing/eventually.js'
import { type ForkedApp, forkApp } from '../../../scripts/testing/forked-app.js'

const [us, eu] = ['us-east-1', 'eu-west-1']
const app = new URL('../testing/app-child.ts', import.meta.url)

/** The region in which a job ran. */
async function ranIn(one: ForkedApp): Promise<string> {
  const { body } = await one.call('POST', '/api/workers/emails/jobs', { data: null })
  let result = ''
  await eventually('the job is done', async () => {
    const { job } = (await one.call('GET', `/api/workers/emails/jobs/${body.job.id}`)).body
    result = job.result
    return job.status === 'completed'
  })
  return result
}

describe('a worker in one of two regions', () => {
  it('moves when the only process of its region, which is also the leader, is killed, and returns when the region has one again', async (t) => {
    const after = cleanUp(t)
    const rootDir = await mkdtemp(join(tmpdir(), 'zin-regions-'))
    after(() => rm(rootDir, { recursive: true, force: true }))
    const env = {
      REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
      APP_NAME: `regions-${randomUUID().slice(0, 8)}`,
      CLUSTER_HEARTBEAT_MS: '500',
      WORKER_AUTO_START: 'true',
      WORKER_PERSISTENCE_DRIVER: 'kvstore',
    }
    const start = async (region: string) => {
      const one = await forkApp({ env: { ...env, WORKER_REGION: region }, rootDir, app })
      after(() => one.stop())
      return one
    }
    // The first one leads.
    const first = await start(us)
    const second = await start(eu)
    const created = await first.call('POST', '/api/workers', {
      name: 'emails',
      queueName: 'emails',
      placement: { regions: [us] },
      features: { datacenter: true },
      extensions: { autoscale: { regions: { primary: us, secondaries: [eu] } } },
    })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    assert.equal(await ranIn(second), us)

    await first.kill()
    assert.equal(await ranIn(second), eu)
    const third = await start(us)
    await eventually('it is back', async () => (await third.call('GET', '/api/workers/emails')).body.worker.placement.regions[0] === us)
    // The node of the other region may still take jobs until it has applied the change.
    await eventually('jobs run there again', async () => (await ranIn(second)) === us)
    // Without a database, who decided keeps its decisions.
    await eventually('both moves are recorded', async () => {
      const { decisions } = (await second.call('GET', '/api/decisions?kind=failover')).body
      return decisions.map(({ verdict }: { verdict: string }) => verdict).join() === 'returned,moved'
    })
  })
})
