import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { eventually } from '../../scripts/testing/eventually.js'
import { complianceService } from './contract.js'
import { type ComplianceApp, complianceApp, type Env } from './testing/app.js'

const marker = `marker-${randomUUID()}`
const key = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`
const [first, second] = [key('first'), key('second')]

/** @param leaksOf Returns where the stores of the app contain a text. */
export function encryptionContract(name: string, env: Env, leaksOf: (dataDir: string, text: string) => Promise<readonly string[]>): void {
  describe(`encryption of jobs on ${name}`, () => {
    let dataDir: string
    let app: ComplianceApp
    const boot = async (more: Env, search: readonly string[] = ['order.id']): Promise<void> => {
      app = await complianceApp({
        search: { orders: [...search] },
        env: { ...env, ...more },
        dataDir,
        options: { clearFields: { orders: ['order.id'] } },
        steps: {
          completes: async (job) => {
            await job.log(`${marker} in a log`)
            await job.updateProgress({ note: `${marker} in progress` })
            return { echo: job.data.note }
          },
          fails: async (job) => {
            await job.log(`${marker} in a log`)
            throw new Error(`${job.data.note} in an error`)
          },
        },
      })
    }
    const reboot = async (more: Env): Promise<void> => {
      await app.stop()
      await boot(more)
    }
    const queues = () => app.host.service(queuesService)
    const jobs: Record<string, string> = {}
    const orderId = `clear-${marker.slice(7, 15)}`
    const settled = (id: string, state: string) =>
      eventually(`${id} is ${state}`, async () => (await queues().job('orders', id))?.state === state)
    /** Jobs that a clear field finds, without the next one of the schedule. */
    const found = async () => {
      const { jobs: all } = await queues().find('orders', { 'order.id': orderId }, { limit: 10 })
      return all.flatMap(({ job }) => (job.repeatJobKey === undefined ? [job.id] : [])).sort()
    }
    /** All is readable through the service, and over HTTP for who may see it. */
    const isReadable = async (): Promise<void> => {
      for (const [name, id] of Object.entries(jobs)) {
        const { job, state } = (await queues().job('orders', id)) ?? assert.fail(`${name} is kept`)
        assert.equal(((await queues().restoredData(job)) as { note: string }).note, `${marker} in data`, name)
        if (state === 'completed') assert.deepEqual(await queues().restoredResult(job), { echo: `${marker} in data` })
        if (state === 'failed') {
          assert.equal(job.failedReason, `${marker} in data in an error`)
          assert.match(job.stacktrace?.[0] ?? '', new RegExp(marker))
        }
      }
      const seen = await app.host.inject({ method: 'GET', path: `/api/jobs/${jobs.fails}?queue=orders&include=payload` })
      assert.equal(seen.status, 200, seen.text)
      assert.match(seen.text, new RegExp(`${marker} in data"`))
      assert.match(seen.text, new RegExp(`${marker} in data in an error`))
      const logs = await app.host.inject({ method: 'GET', path: `/api/jobs/${jobs.completes}/logs?queue=orders` })
      assert.match(logs.text, new RegExp(`${marker} in a log`))
    }

    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'zin-encryption-'))
      await boot({ WORKER_ENCRYPTION_KEYS: first })
    })
    after(async () => {
      await app.stop()
      await rm(dataDir, { recursive: true, force: true })
    })

    it('leaves no readable payload, result, error, log or progress in any file or key, except for clear fields', async () => {
      const workers = app.host.service(workersService)
      await workers.create({ name: 'orders', queueName: 'orders', features: { deadLetterQueue: true } })
      const data = { note: `${marker} in data`, order: { id: orderId } }
      for (const job of ['completes', 'fails']) jobs[job] = (await workers.enqueue('orders', data, { name: job, attempts: 1 })).id
      jobs.later = (await workers.enqueue('orders', data, { name: 'completes', delay: 3_600_000 })).id
      await workers.schedule('orders', 'yearly', { pattern: '0 0 1 1 *', data, options: { name: 'completes' } })
      await settled(jobs.completes ?? '', 'completed')
      await settled(jobs.fails ?? '', 'failed')
      await eventually('its dead letter is kept', async () => (await queues().counts('orders-dead')).waiting === 1)
      await isReadable()
      await app.stop()
      assert.deepEqual(await leaksOf(dataDir, marker), [])
      assert.notDeepEqual(await leaksOf(dataDir, 'clear-'), [])
      await boot({ WORKER_ENCRYPTION_KEYS: first })
    })

    it('finds jobs by clear fields, and refuses to start if other fields are declared for search', async () => {
      const { completes, fails, later } = jobs
      assert.deepEqual(await found(), [completes, fails, later].sort())
      await app.stop()
      await assert.rejects(boot({ WORKER_ENCRYPTION_KEYS: first }, ['order.id', 'note']), {
        code: 'ZIN_BOOT_FAILED',
        message: /Jobs of queue "orders" cannot be searched by "note"/,
      })
      await boot({ WORKER_ENCRYPTION_KEYS: first })
    })

    it('keeps old jobs readable after a rotation, and re-encrypts them in the background until the old key can be removed', async () => {
      const gone = await app.host.service(workersService).enqueue('orders', { note: marker }, { name: 'completes', delay: 3_600_000 })
      const undo = { batch: 'gone', ms: 3_600_000 }
      assert.equal(await queues().deleteJob('orders', gone.id, undo), 'restorable')
      await reboot({ WORKER_ENCRYPTION_KEYS: `${second},${first}` })
      await isReadable()
      await eventually('all is encrypted again', async () => {
        const kept = await Promise.all(
          Object.values(jobs).map(async (id) => (await queues().queue('orders').getJob(id)) ?? assert.fail('it is kept')),
        )
        return kept.every((job) => /zc1\.second\./.test(JSON.stringify(job)) && !/zc1\.first\./.test(JSON.stringify(job)))
      })
      await eventually('its schedule is encrypted again', async () => {
        const schedulers = await queues().queue('orders').getJobSchedulers()
        return /zc1\.second\./.test(JSON.stringify(schedulers)) && !/zc1\.first\./.test(JSON.stringify(schedulers))
      })
      await eventually('a deleted job is encrypted again', async () =>
        /zc1\.second\./.test(JSON.stringify(await queues().deletedJobs('orders', { offset: 0, limit: 10 }))),
      )
      await reboot({ WORKER_ENCRYPTION_KEYS: second })
      await isReadable()
      for await (const { restored } of queues().restoreJobs('orders', undo.batch)) assert.equal(restored, 1)
      const back = (await queues().job('orders', gone.id))?.job ?? assert.fail('it is restored')
      assert.deepEqual(await queues().restoredData(back), { note: marker })
      await back.remove()
    })

    it('defers jobs with a missing key instead of failing them, and names the key', async () => {
      const { id } = await app.host.service(workersService).enqueue('orders', { note: 'x' }, { name: 'completes', delay: 500 })
      await reboot({ WORKER_ENCRYPTION_KEYS: key('other') })
      await eventually('the report says that jobs of the key are left', async () => {
        const { controls } = await app.host.service(complianceService).report()
        const control = controls.find(({ id }) => id === 'encryption/jobs')
        return control?.evidence.reencryption === 'incomplete' && control.state === 'gap'
      })
      await eventually('it was put off', async () => ((await queues().job('orders', id))?.job.delay ?? 0) > 30_000)
      const { job, state } = (await queues().job('orders', id)) ?? assert.fail('it is kept')
      assert.deepEqual([state, job.attemptsMade], ['delayed', 0])
      await assert.rejects(queues().restoredData(job), {
        code: 'JOB_PAYLOAD_UNREADABLE',
        message: /the key "second", which is not configured \(configured: other\)/,
      })
      assert.match(app.host.logText(), /the key \\"second\\"|the key "second"/)
      const seen = await app.host.inject({ method: 'GET', path: `/api/jobs/${jobs.fails}?queue=orders` })
      assert.match(seen.text, /the key \\"second\\"/)
      await reboot({ WORKER_ENCRYPTION_KEYS: second })
      await (await queues().queue('orders').getJob(id))?.promote()
      await settled(id, 'completed')
    })

    it('reads both and stores plaintext after it is turned off', async () => {
      await reboot({ WORKER_ENCRYPTION_KEYS: second, WORKER_ENCRYPTION: 'false' })
      await isReadable()
      const known = await found()
      const data = { note: `${marker} in data` }
      const { id } = await app.host.service(workersService).enqueue('orders', { ...data, order: { id: orderId } }, { name: 'completes' })
      await settled(id, 'completed')
      assert.deepEqual([known.length, await found()], [3, [...known, id].sort()])
      assert.deepEqual((await queues().queue('orders').getJob(id))?.data, { ...data, order: { id: orderId } })
      jobs.plain = id
      await isReadable()
    })
  })
}
