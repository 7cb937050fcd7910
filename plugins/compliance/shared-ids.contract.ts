import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { type JobOptions, queuesService } from 'zin/plugins/queues'
import { eventually } from '../../scripts/testing/eventually.js'
import type { Erasure } from './store/erasures.js'
import type { SubjectExport } from './subjects/export.js'
import { type ComplianceApp, complianceApp, type Env } from './testing/app.js'

/** Ids that stand for data of several subjects, one after the other or beside each other. */
export function sharedIdsContract(name: string, env: Env): void {
  describe(`data with an id that another subject uses too, on ${name}`, () => {
    let dataDir: string
    let app: ComplianceApp
    let number = 0
    /** Ends running jobs, by the id of their subject. */
    const running = new Map<string, () => void>()
    /** Producers that wait after their jobs were indexed and before they are stored, by the note of their data. */
    const held = new Map<string, { readonly arrive: () => void; readonly released: Promise<void> }>()
    const queues = () => app.host.service(queuesService)
    const request = async (method: string, subject: string, path = '') => {
      const { text } = await app.host.inject({
        method,
        path: `/api/compliance/subjects/${subject}${path}`,
        headers: { 'x-requested-with': 'test' },
      })
      return JSON.parse(text)
    }
    const exported = (subject: string): Promise<SubjectExport> => request('GET', subject, '/export')
    const erase = async (subject: string, wait = 20_000) => (await request('DELETE', subject, `?wait=${wait}`)).erasure as Erasure
    const state = async (id: string, queue = 'orders') => (await queues().job(queue, id))?.state
    const add = (id: string, subject: string, options: JobOptions & { readonly name?: string; readonly note?: string } = {}) => {
      const { name: step = 'completes', note = `of ${subject}`, ...others } = options
      return queues().add('orders', step, { user: { id: subject }, note }, { attempts: 1, delay: 3_600_000, ...others, jobId: id })
    }
    const hold = (note: string) => {
      let [arrive, release]: (() => void)[] = [() => undefined, () => undefined]
      const arrived = new Promise<void>((resolve) => (arrive = resolve))
      const released = new Promise<void>((resolve) => (release = resolve))
      held.set(note, { arrive: () => arrive?.(), released })
      return { arrived, release: () => release?.() }
    }
    const undo = (id: string) => ({ batch: `batch-${id}`, ms: 600_000 })
    const yearly = { pattern: '0 0 1 1 *' }
    const schedule = (id: string, subject?: string) =>
      queues().schedule('orders', id, yearly, { name: 'completes', data: subject === undefined ? {} : { user: { id: subject } } })
    const scheduled = async (id: string) => {
      const found = (await queues().schedules('orders')).find(({ key }) => key === id)
      const jobs = await queues().list('orders', 'delayed', { offset: 0, limit: 1_000 })
      return [found?.key, jobs.filter(({ repeatJobKey }) => repeatJobKey === id).length]
    }
    const runs = async (id: string, subject: string, options: JobOptions = {}) => {
      await add(id, subject, { name: 'runs', delay: 0, ...options })
      await eventually('it runs', () => running.has(subject))
    }

    interface Case {
      /** Leaves a row of the subject beside data of the other one. Returns what the other one has, which must stay, if anything. */
      arrange(id: string, subject: string, other: string): Promise<(() => Promise<unknown>) | undefined>
      /** What the subject has itself. Default: nothing. */
      readonly own?: { readonly exported: number; readonly erased: number }
      /** Called after the erasure, with the same ids. */
      check?(id: string, other: string): Promise<void>
    }
    const cases: Readonly<Record<string, Case>> = {
      'a job that is stored': {
        async arrange(id, subject, other) {
          await add(id, other)
          assert.equal((await add(id, subject)).deduplicated, true)
          return () => state(id)
        },
      },
      'a job that has ended, with its result and its log': {
        async arrange(id, subject, other) {
          await add(id, other, { delay: 0 })
          await eventually('it completes', async () => (await state(id)) === 'completed')
          await add(id, subject)
          return async () => [await state(id), (await queues().logs('orders', id, { offset: 0, limit: 9 })).logs]
        },
      },
      'a job that runs': {
        async arrange(id, subject, other) {
          await runs(id, other)
          await add(id, subject)
          return () => state(id)
        },
        async check(id, other) {
          running.get(other)?.()
          await eventually('it completes', async () => (await state(id)) === 'completed')
        },
      },
      'a job named by option': {
        async arrange(id, subject, other) {
          for (const one of [other, subject]) await queues().add('named', 'x', {}, { subject: one, jobId: id, delay: 3_600_000 })
          return () => state(id, 'named')
        },
      },
      'a job after theirs was removed': {
        async arrange(id, subject, other) {
          await add(id, subject)
          await queues().purge('orders', [id])
          await add(id, other)
          return () => state(id)
        },
      },
      'a job beside their deleted one': {
        async arrange(id, subject, other) {
          await add(id, subject)
          assert.equal(await queues().deleteJob('orders', id, undo(id)), 'restorable')
          await add(id, other)
          return () => state(id)
        },
        own: { exported: 1, erased: 1 },
        async check(id) {
          assert.equal(await queues().deletedJob('orders', id), undefined)
          assert.equal(await queues().deleteJob('orders', id, undo(`later-${id}`)), 'restorable', 'it can still be deleted with undo')
        },
      },
      'a deleted job beside theirs': {
        async arrange(id, subject, other) {
          await add(id, other)
          assert.equal(await queues().deleteJob('orders', id, undo(id)), 'restorable')
          await new Promise((resolve) => setTimeout(resolve, 2))
          await add(id, subject)
          return async () => (await queues().deletedJob('orders', id))?.id
        },
        own: { exported: 1, erased: 1 },
        async check(id) {
          let restored = 0
          for await (const step of queues().restoreJobs('orders', undo(id).batch)) restored += step.restored
          assert.deepEqual([restored, await state(id)], [1, 'delayed'])
        },
      },
      'a job that got its id while the erasure waited for theirs': {
        async arrange(id, subject, other) {
          await runs(id, subject, { removeOnComplete: true })
          const { id: erasure } = await erase(subject, 0)
          const read = async () => JSON.parse((await app.host.inject({ method: 'GET', path: `/api/compliance/erasures/${erasure}` })).text)
          await eventually('the erasure waits', async () => (await read()).erasure.state === 'waiting')
          running.get(subject)?.()
          await eventually('it is gone', async () => (await state(id)) === undefined)
          await add(id, other)
          await eventually('the erasure ends', async () => (await read()).erasure.state === 'completed')
          assert.equal(await state(id), 'delayed')
          return () => state(id)
        },
      },
      'a job whose producer is between the index and the queue': {
        async arrange(id, subject, other) {
          await add(id, subject)
          await queues().purge('orders', [id])
          const { arrived, release } = hold(`of ${other}`)
          const adding = add(id, other)
          await arrived
          await erase(subject)
          release()
          await adding
          return () => state(id)
        },
      },
      'a job that their producer comes upon after the erasure': {
        async arrange(id, subject, other) {
          await add(id, other)
          const { arrived, release } = hold(`of ${subject}`)
          const adding = add(id, subject)
          await arrived
          await erase(subject)
          release()
          assert.equal((await adding).deduplicated, true)
          return () => state(id)
        },
      },
      'a dead letter': {
        async arrange(id, subject, other) {
          for (const one of [other, subject])
            await queues().add('orders-dead', 'x', { data: { user: { id: one } }, options: {} }, { jobId: id, delay: 3_600_000 })
          return () => state(id, 'orders-dead')
        },
      },
      'a schedule that replaced theirs': {
        async arrange(id, subject, other) {
          await schedule(id, subject)
          await schedule(id, other)
          return () => scheduled(id)
        },
      },
      'a schedule without a subject that replaced theirs': {
        async arrange(id, subject) {
          await schedule(id, subject)
          await schedule(id)
          return () => scheduled(id)
        },
      },
      'a schedule that was made after theirs ended': {
        async arrange(id, subject, other) {
          await schedule(id, subject)
          await queues().purgeSchedule('orders', id)
          await schedule(id, other)
          return () => scheduled(id)
        },
      },
      'nothing, but theirs is stored': {
        async arrange(id, subject) {
          await add(id, subject)
          return undefined
        },
        own: { exported: 1, erased: 1 },
        check: async (id) => assert.equal(await state(id), undefined),
      },
      'nothing, but theirs is a schedule': {
        async arrange(id, subject) {
          await schedule(id, subject)
          return undefined
        },
        own: { exported: 1, erased: 1 },
        check: async (id) => assert.deepEqual(await scheduled(id), [undefined, 0]),
      },
    }

    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'zin-shared-ids-'))
      app = await complianceApp({
        env: { ...env, WORKER_GDPR: 'true', APP_KEY: 'a master key of more than 32 bytes, for tests' },
        dataDir,
        options: { subjects: { orders: ['user.id'] } },
        extra: [
          definePlugin({
            name: 'slow-store',
            version: '1.0.0',
            setup({ hooks }) {
              hooks.on('transformJobData', async (data: unknown) => {
                const { arrive, released } = held.get((data as { readonly note?: string } | undefined)?.note ?? '') ?? {}
                arrive?.()
                await released
                return data
              })
            },
          })(),
        ],
      })
      queues().worker(
        'orders',
        async (job) => {
          await job.log(`log of ${job.data.note}`)
          if (job.name === 'runs') await new Promise<void>((resolve) => running.set(job.data.user.id, resolve))
          return job.data.note
        },
        { concurrency: 10 },
      )
    })
    after(async () => {
      for (const finish of running.values()) finish()
      await app.stop()
      await rm(dataDir, { recursive: true, force: true })
    })

    for (const [what, { arrange, check, own = { exported: 0, erased: 0 } }] of Object.entries(cases)) {
      it(`are only their own for a subject: ${what}`, async () => {
        const n = ++number
        const [id, subject, other] = [`shared-${n}`, `mallory-${n}`, `victim-${n}`]
        const kept = await arrange(id, subject, other)
        const before = await kept?.()
        assert.equal([before].flat().includes(undefined), kept === undefined)
        const theirs = await exported(subject)
        assert.doesNotMatch(JSON.stringify(theirs.jobs), new RegExp(other))
        assert.deepEqual([theirs.jobs.length, theirs.problems], [own.exported, []])
        const { erased, pending, state: last } = await erase(subject)
        assert.deepEqual([last, erased, pending], ['completed', own.erased, 0])
        assert.deepEqual(await kept?.(), before)
        await check?.(id, other)
        assert.deepEqual((await exported(subject)).jobs, [])
      })
    }
  })
}
