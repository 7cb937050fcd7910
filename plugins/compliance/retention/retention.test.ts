import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Clock, systemClock } from 'zin'
import { decisionsService } from 'zin/plugins/decisions'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { eventually } from '../../../scripts/testing/eventually.js'
import { complianceService } from '../index.js'
import { type ComplianceApp, complianceApp } from '../testing/app.js'

const dayMs = 86_400_000

describe('retention of 2 days', () => {
  let dataDir: string
  let app: ComplianceApp
  let laterMs = 0
  const clock: Clock = { now: () => Date.now() + laterMs, monotonic: systemClock.monotonic }
  const queues = () => app.host.service(queuesService)
  const compliance = () => app.host.service(complianceService)
  const countsOf = (queue: string) => queues().counts(queue)
  const decisionsAbout = async (subject: string) => (await app.host.service(decisionsService).list({ subject })).decisions.length
  const run = async () => {
    const { body, status, text } = await app.host.inject({
      method: 'POST',
      path: '/api/compliance/retention/run',
      headers: { 'x-requested-with': 'test' },
      body: {},
    })
    assert.equal(status, 200, text)
    assert.deepEqual([body.problems, body.more], [[], false])
    return body as { before: string; jobs: number; entries: number; history: string[] }
  }

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'zin-retention-'))
    app = await complianceApp({
      env: {
        WORKER_DATA_RETENTION: '2',
        WORKER_AUDIT_LOG: 'true',
        APP_KEY: 'k'.repeat(32),
        WORKER_AUDIT_ANCHOR_FILE: join(dataDir, 'anchor.jsonl'),
      },
      dataDir,
      clock,
      steps: { works: async () => 1, fails: () => Promise.reject(new Error('no')) },
    })
    const workers = app.host.service(workersService)
    await workers.create({ name: 'orders', queueName: 'orders', features: { deadLetterQueue: true }, jobOptions: { attempts: 1 } })
    await workers.enqueue('orders', 1, { name: 'works' })
    await workers.enqueue('orders', 2, { name: 'fails' })
    await workers.enqueue('orders', 3, { name: 'works', delay: 30 * dayMs })
    await queues().add('letters', 'letter', 'waits')
    app.host
      .service(decisionsService)
      .record({ kind: 'nightly', subject: 'desk:1', verdict: 'up', acted: true, reason: 'It is late', rule: 'desk/late' })
    await eventually('all have ended', async () => {
      const { completed, failed } = await countsOf('orders')
      return completed === 1 && failed === 1 && (await countsOf('orders-dead')).waiting === 1
    })
    await eventually('it is kept', async () => (await decisionsAbout('desk:1')) === 1)
  })
  after(async () => {
    await app.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('deletes no newer data', async () => {
    laterMs = dayMs
    const result = await run()
    assert.deepEqual([result.jobs, result.entries], [0, 0])
    assert.ok(Math.abs(Date.now() - dayMs - Date.parse(result.before)) < 60_000)
    assert.equal(await decisionsAbout('desk:1'), 1)
  })

  it('deletes older records of jobs, dead letters, audit entries and history, and keeps jobs that still have to run', async () => {
    const { pagination } = await compliance().entries()
    laterMs = 2 * dayMs + 60_000
    const result = await run()
    // The run before was recorded a day later.
    assert.deepEqual([result.jobs, result.history], [3, ['decisions.records']])
    assert.ok(result.entries >= 3 && result.entries < pagination.total)
    assert.deepEqual(
      [await countsOf('orders'), await countsOf('orders-dead'), await countsOf('letters')].map(
        ({ completed, delayed, failed, waiting }) => [completed, failed, delayed, waiting],
      ),
      [
        [0, 0, 1, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 1],
      ],
    )
    assert.equal(await decisionsAbout('desk:1'), 0)
  })

  it('leaves a log with entries of the runs that is verified with kv and an anchor', async () => {
    const { entries, intact, purged } = await compliance().verify()
    assert.equal(intact, true)
    assert.ok(entries > 0 && purged > 0)
    const [last] = (await compliance().entries({ action: 'retention.purge' })).entries
    assert.match(last?.reason ?? '', /^3 jobs, \d+ audit entries, and history \(decisions\.records\) from before /)
    const { controls } = await compliance().report()
    assert.equal(controls.find(({ id }) => id === 'retention/purge')?.state, 'met')
  })
})
