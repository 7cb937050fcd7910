import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cluster, database, kv, ops, queues, workers } from 'zin/plugins'
import { type AttemptEnd, workersService } from 'zin/plugins/workers'
import { createTestHost, describePlugin } from 'zin/testing'
import { rateShaper } from './index.js'
import { Pace } from './pace.js'

const needed = () => [database(), kv(), cluster(), queues(), ops(), workers()]

describePlugin(needed, rateShaper, { readme: new URL('./README.md', import.meta.url) })

describe('the pace of jobs', () => {
  it('lets the jobs of a minute start in a burst, then one at a time, separately for each key', () => {
    const pace = new Pace()
    assert.deepEqual(
      [0, 0, 0, 10_000, 20_000, 30_000].map((now) => pace.begin('ada', 2, now)),
      [0, 0, 30_000, 20_000, 10_000, 0],
    )
    assert.equal(pace.begin('bob', 2, 0), 0)
  })
})

describe('a worker with rateShaping', () => {
  it('skips duplicates, delays jobs beyond the rate without using an attempt, and does not affect other customers', async () => {
    const ends: AttemptEnd[] = []
    let heard = (): void => {}
    const app = await createTestHost({
      plugins: [...needed(), rateShaper()],
      env: { WORKER_AUTO_START: 'true' },
      hooks: {
        onAttemptEnd: (end) => {
          ends.push(end)
          heard()
        },
      },
    })
    const endOf = async (id: string): Promise<AttemptEnd> => {
      for (;;) {
        const end = ends.find(({ job }) => job.id === id)
        if (end !== undefined) return end
        await new Promise<void>((resolve) => {
          heard = resolve
        })
      }
    }
    interface Shown {
      readonly nodes: number
      readonly epoch: number
      readonly outcomes: Readonly<Record<string, number>>
    }
    const until = async (fits: (shown: Shown) => boolean): Promise<Shown> => {
      for (;;) {
        const shown = (await app.inject({ path: '/api/rate-shaper' })).body as Shown
        if (fits(shown)) return shown
      }
    }
    try {
      const { create, enqueue, job } = app.service(workersService)
      const mailer = { name: 'mailer', queueName: 'mails', processor: () => 'sent', features: { rateShaping: true } }
      await assert.rejects(create(mailer), { code: 'INVALID_EXTENSION', message: /"extensions.rate-shaper.rateBy" is required/ })
      await create({ ...mailer, extensions: { 'rate-shaper': { rateBy: 'customer', perMinute: 1, onceBy: 'order' } } })

      const first = await enqueue('mailer', { customer: 'ada', order: 1 })
      assert.equal((await endOf(first.id)).outcome, 'completed')
      const bobs = await enqueue('mailer', { customer: 'bob', order: 2 })
      assert.equal((await endOf(bobs.id)).outcome, 'completed')

      const beyond = await enqueue('mailer', { customer: 'ada', order: 3 })
      const { outcome, final } = await endOf(beyond.id)
      assert.deepEqual([outcome, final], ['deferred', false])
      const { status, attempts } = await job('mailer', beyond.id)
      assert.deepEqual([status, attempts], ['delayed', 0])

      await until(({ outcomes }) => outcomes.completed === 2)
      const again = await enqueue('mailer', { customer: 'ada', order: 1 })
      await endOf(again.id)
      assert.deepEqual((await job('mailer', again.id)).result, { skipped: true, sameAs: first.id })
      assert.equal((await until(({ epoch }) => epoch > 0)).nodes, 1)
    } finally {
      await app.stop()
    }
  })
})
