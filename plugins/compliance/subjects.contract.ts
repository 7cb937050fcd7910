import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { eventually } from '../../scripts/testing/eventually.js'
import { complianceService } from './contract.js'
import type { Erasure } from './store/erasures.js'
import type { ShownErasure } from './subjects/awaited.js'
import { packed } from './subjects/digest.js'
import type { SubjectExport } from './subjects/export.js'
import { type ComplianceApp, complianceApp, type Env } from './testing/app.js'

/** @param leaksOf Returns where the stores of the app contain a text. */
export function subjectsContract(name: string, env: Env, leaksOf: (dataDir: string, text: string) => Promise<readonly string[]>): void {
  describe(`subjects on ${name}`, () => {
    let dataDir: string
    let app: ComplianceApp
    let finish: () => void = () => undefined
    /** Producers that wait after their jobs were indexed and before they are stored, by queue. */
    const held = new Map<string, { pass(data: unknown): Promise<unknown> }>()
    const stored: string[] = []
    const hold = (queue: string) => {
      let arrive: () => void = () => undefined
      let free: () => void = () => undefined
      const arrived = new Promise<void>((resolve) => (arrive = resolve))
      const released = new Promise<void>((resolve) => (free = resolve))
      held.set(queue, {
        async pass(data) {
          arrive()
          await released
          return data
        },
      })
      const release = (): void => {
        held.delete(queue)
        free()
      }
      return { arrived, release }
    }
    const bodies = new Map([['ann', ['a webhook about ann']]])
    const boot = async (more: Env = {}): Promise<void> => {
      app = await complianceApp({
        env: { ...env, WORKER_GDPR: 'true', WORKER_AUDIT_LOG: 'true', APP_KEY: 'a master key of more than 32 bytes, for tests', ...more },
        dataDir,
        options: { subjects: { orders: ['user.id', 'others'] } },
        steps: {
          becomes: async (job) => job.updateData({ user: { id: job.data.becomes }, note: job.data.note }),
          completes: async (job) => {
            await job.log(`log of ${job.data.note}`)
            return { echo: job.data.note }
          },
          fails: async (job) => {
            throw new Error(`failed with ${job.data.note}`)
          },
          runs: (job) =>
            new Promise((resolve, reject) => (finish = () => (job.data.fail ? reject(new Error(job.data.note)) : resolve(job.data.note)))),
        },
        extra: [
          definePlugin({
            name: 'slow-store',
            version: '1.0.0',
            setup({ hooks }) {
              hooks.on('transformJobData', (data: unknown, queue: string) => held.get(queue)?.pass(data))
              hooks.on('afterJobsAdd', (_jobs, queue) => void stored.push(queue))
            },
          })(),
          definePlugin({
            name: 'hooks-of-shop',
            version: '1.0.0',
            setup({ hooks }) {
              hooks.on('exportSubject', (subject) =>
                (bodies.get(subject) ?? []).map((data, i) => ({ kind: 'webhook', id: String(i), data })),
              )
              hooks.on('eraseSubject', (subject) => {
                if (subject === 'kept') throw new Error('the archive is read-only')
                const { length } = bodies.get(subject) ?? []
                bodies.delete(subject)
                return length
              })
            },
          })(),
        ],
      })
    }
    const workers = () => app.host.service(workersService)
    const queues = () => app.host.service(queuesService)
    const state = async (id: string) => (await queues().job('orders', id))?.state
    const add = async (data: object, options: object = {}) => (await workers().enqueue('orders', data, { attempts: 1, ...options })).id
    const exported = async (subject: string) => {
      const response = await app.host.inject({ method: 'GET', path: `/api/compliance/subjects/${encodeURIComponent(subject)}/export` })
      assert.equal(response.status, 200, response.text)
      return JSON.parse(response.text) as SubjectExport
    }
    const erase = async (subject: string, wait = 10_000) => {
      const path = `/api/compliance/subjects/${encodeURIComponent(subject)}?wait=${wait}`
      const response = await app.host.inject({ method: 'DELETE', path, headers: { 'x-requested-with': 'test' } })
      return { status: response.status, erasure: (JSON.parse(response.text) as { erasure: Erasure }).erasure, text: response.text }
    }

    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'zin-subjects-'))
      await boot({ WORKER_GDPR: 'false' })
      await workers().create({ name: 'orders', queueName: 'orders', concurrency: 5, features: { deadLetterQueue: true } })
    })
    after(async () => {
      await app.stop()
      await rm(dataDir, { recursive: true, force: true })
    })

    it('are neither exported nor erased while WORKER_GDPR is false', async () => {
      for (const [method, path] of [
        ['GET', '/api/compliance/subjects/ann/export'],
        ['DELETE', '/api/compliance/subjects/ann'],
      ] as const) {
        const response = await app.host.inject({ method, path, headers: { 'x-requested-with': 'test' } })
        assert.deepEqual([response.status, JSON.parse(response.text).code], [409, 'GDPR_OFF'])
      }
    })

    it('are exported from jobs in every state, including those added before, by path and by option, and from other plugins', async () => {
      const marker = `old-${randomUUID()}`
      const old = await add({ user: { id: 'ann' }, note: marker }, { name: 'completes' })
      const opted = await add({ note: marker }, { name: 'completes', subject: 'ann' })
      for (const id of [old, opted]) await eventually('it completes', async () => (await state(id)) === 'completed')
      await app.stop()
      await boot()
      const numbered = await add({ others: ['bob', 7, 'ann'], note: marker }, { name: 'completes', delay: 3_600_000 })
      await queues().add('undeclared', 'x', { note: marker }, { subject: 'ann', delay: 3_600_000 })
      const found = await exported('ann')
      assert.deepEqual([found.complete, found.problems], [true, []])
      assert.deepEqual(
        found.jobs.map(({ queue, id }) => (queue === 'orders' ? id : queue)).sort(),
        [old, opted, numbered, 'undeclared'].sort(),
      )
      const first = found.jobs.find(({ id }) => id === old)
      assert.deepEqual(
        [first?.state, first?.data, first?.result, first?.logs],
        ['completed', { user: { id: 'ann' }, note: marker }, { echo: marker }, [`log of ${marker}`]],
      )
      assert.deepEqual(found.records, [{ plugin: 'hooks-of-shop', kind: 'webhook', id: '0', data: 'a webhook about ann' }])
      assert.deepEqual(
        (await exported('7')).jobs.map(({ id }) => id),
        [numbered],
      )
      assert.deepEqual((await exported('nobody')).jobs, [])
      const raw = await queues().queue('orders').getJob(opted)
      assert.doesNotMatch(JSON.stringify(raw?.opts), /ann/)
    })

    it('are erased from jobs in every state, dead letters, schedules and other plugins, and nothing is left', async () => {
      const marker = `erase-${randomUUID()}`
      const data = { user: { id: 'ann' }, note: marker }
      const done = await add(data, { name: 'completes' })
      const failed = await add(data, { name: 'fails' })
      const delayed = await add(data, { name: 'completes', delay: 3_600_000 })
      await workers().schedule('orders', 'yearly', { pattern: '0 0 1 1 *', data, options: { name: 'completes' } })
      const kept = await add({ user: { id: 'bob' }, note: 'stays' }, { name: 'completes' })
      for (const id of [done, kept]) await eventually('it completes', async () => (await state(id)) === 'completed')
      await eventually('it fails', async () => (await state(failed)) === 'failed')
      await eventually('it is a dead letter', async () => (await queues().counts('orders-dead')).waiting === 1)
      const running = await add({ ...data, fail: true }, { name: 'runs' })
      await eventually('it runs', async () => (await state(running)) === 'active')
      await queues().queue('orders').pause()
      const waiting = await add(data, { name: 'completes' })
      const deleted = await add(data, { name: 'completes' })
      const undo = { batch: 'gone', ms: 3_600_000 }
      assert.equal(await queues().deleteJob('orders', deleted, undo), 'restorable')
      const restorable = (await exported('ann')).jobs.find(({ id }) => id === deleted)
      assert.deepEqual([restorable?.state, restorable?.name, restorable?.data], ['deleted', 'completes', data])
      assert.ok((await leaksOf(dataDir, marker)).length > 0)

      const started = await erase('ann', 0)
      assert.equal(started.status, 202, started.text)
      let last: ShownErasure | undefined
      const read = async () => {
        const response = await app.host.inject({ method: 'GET', path: `/api/compliance/erasures/${started.erasure.id}` })
        last = (JSON.parse(response.text) as { erasure: ShownErasure }).erasure
        return last.state
      }
      await eventually('it waits for the running job', async () => (await read()) === 'waiting')
      for (const id of [done, failed, delayed, waiting]) assert.equal(await state(id), undefined)
      assert.equal(await state(running), 'active')
      const [awaits] = last?.waitsFor ?? []
      assert.deepEqual([last?.waitsFor.length, awaits?.queue, awaits?.job, awaits?.lost], [1, 'orders', running, false])
      assert.ok(Date.parse(awaits?.runningSince ?? '') <= Date.parse(awaits?.since ?? ''))
      assert.match(last?.advice ?? '', new RegExp(`^The job ${running} of the queue orders has run since .*, and is erased when it ends.`))
      finish()
      await eventually('it is complete', async () => !['running', 'waiting'].includes(await read()))
      assert.deepEqual([last?.state, last?.pending, last?.elsewhere, last?.error], ['completed', 0, 1, null])
      assert.ok((last?.erased ?? 0) >= 9)
      for await (const { restored } of queues().restoreJobs('orders', undo.batch)) assert.equal(restored, 0)
      assert.equal(await state(deleted), undefined)
      assert.equal(await state(running), undefined)
      assert.equal((await queues().counts('orders-dead')).waiting, 0)
      assert.deepEqual(await workers().schedules('orders'), [])
      assert.equal(await state(kept), 'completed')
      assert.deepEqual((await exported('ann')).jobs, [])
      assert.deepEqual((await exported('ann')).records, [])
      assert.equal((await exported('bob')).jobs.length, 2 - 1)
      await queues().queue('orders').resume()
      await app.stop()
      assert.deepEqual(await leaksOf(dataDir, marker), [])
      await boot()
    })

    it('are erased from the errors of the jobs above a failed one, which are those of others', async () => {
      const note = `above-${randomUUID()}`
      const others = { user: { id: 'bob' }, note: 'stays' }
      const child = { worker: 'orders', data: { user: { id: 'ann' }, note }, options: { name: 'fails', attempts: 1 } }
      const parent = { worker: 'orders', data: others, children: [child] }
      const flow = async (deletesChild: boolean) => {
        const root = await workers().enqueueFlow({ worker: 'orders', data: others, children: [parent] })
        const [id, below = '', lowest = ''] = [root.id, root.children[0]?.id, root.children[0]?.children[0]?.id]
        await eventually('it fails through its grandchild', async () => (await state(id)) === 'failed')
        if (deletesChild) assert.equal(await queues().deleteJob('orders', lowest, { batch: 'above', ms: 600_000 }), 'restorable')
        return { id, below, lowest }
      }
      const flows = [await flow(false), await flow(true)]
      for (const { below, id, lowest } of flows)
        assert.equal(
          (await queues().job('orders', id))?.job.failedReason,
          `child orders:${below} failed: child orders:${lowest} failed: failed with ${note}`,
        )
      const { text: letters } = await app.host.inject({
        method: 'GET',
        path: '/api/jobs/waiting?queue=orders-dead&limit=100&include=payload',
      })
      for (const { below, id, lowest } of flows) {
        assert.match(letters, new RegExp(`"error":"child orders:${lowest} failed"`))
        assert.match(letters, new RegExp(`"error":"child orders:${below} failed"`), id)
      }
      // Their attempts are stored after a while.
      const stored = (job: string) => app.host.service(kvService).get(`monitor:attempt:orders:${job}:1`)
      for (const { below, id } of flows)
        for (const job of [below, id]) await eventually('its attempt is stored', async () => (await stored(job)) !== null)
      const { erasure } = await erase('ann')
      assert.deepEqual([erasure.state, erasure.error], ['completed', null])
      for (const { below, id, lowest } of flows) {
        assert.deepEqual([await stored(below), await stored(id)], [null, null])
        const told = `child orders:${lowest} failed or was removed; it no longer exists`
        const [root, mid] = [(await queues().job('orders', id))?.job, (await queues().job('orders', below))?.job]
        assert.deepEqual([mid?.failedReason, root?.failedReason], [told, `child orders:${below} failed: ${told}`])
        assert.doesNotMatch(JSON.stringify([root?.stacktrace, mid?.stacktrace]), new RegExp(note))
        const { text } = await app.host.inject({ method: 'GET', path: `/api/jobs/${id}/attempts?queue=orders` })
        assert.doesNotMatch(text, new RegExp(note))
      }
      // Those of the jobs above stay.
      const left = await queues().list('orders-dead', 'waiting', { offset: 0, limit: 100 })
      await queues().purge(
        'orders-dead',
        left.map(({ id: letter = '' }) => letter),
      )
      await app.stop()
      assert.deepEqual(await leaksOf(dataDir, note), [])
      await boot()
    })

    it('leave no attempt of a job that failed through its child before it began', async () => {
      const data = { user: { id: 'kim' }, note: `own-${randomUUID()}` }
      const child = { worker: 'orders', data, options: { name: 'fails', attempts: 1 } }
      const { id } = await workers().enqueueFlow({ worker: 'orders', data, children: [child] })
      await eventually('it fails', async () => (await state(id)) === 'failed')
      const attempt = () => app.host.service(kvService).get(`monitor:attempt:orders:${id}:1`)
      await eventually('its attempt is stored', async () => (await attempt()) !== null)
      assert.equal((await erase('kim')).erasure.state, 'completed')
      assert.equal(await attempt(), null)
    })

    it('are at most 50 in a job: one with more is refused, and nothing of it is stored', async () => {
      const add = async (count: number) =>
        workers().enqueue('orders', { user: { id: Array.from({ length: count }, (_, i) => `many-${i}`) } }, { delay: 600_000 })
      await assert.rejects(add(51), { code: 'TOO_MANY_SUBJECTS', status: 400 })
      await add(50)
      assert.equal((await erase('many-49')).erasure.erased, 1)
    })

    it('are not reported as erased, to the caller or in the audit log, if a part was not', async () => {
      const audited = async (action: string) => (await app.host.service(complianceService).entries({ action, limit: 1 })).entries[0]
      const { status, text } = await erase('kept')
      const { code, details, message } = JSON.parse(text) as { code: string; details: { erasure: Erasure }; message: string }
      assert.deepEqual([status, code, details.erasure.state], [503, 'ERASURE_FAILED', 'failed'])
      assert.match(message, /not fully erased: .*the archive is read-only/)
      const entry = await audited('subject.erase')
      assert.deepEqual([entry?.outcome, entry?.reason], ['failed', 'ERASURE_FAILED'])

      const running = await add({ user: { id: 'kept' }, note: 'x' }, { name: 'runs' })
      await eventually('it runs', async () => (await state(running)) === 'active')
      const open = await erase('kept', 500)
      assert.equal(open.status, 202)
      assert.match((await audited('subject.erase'))?.reason ?? '', new RegExp(`^erasure ${open.erasure.id} waiting; .*, still running: 1$`))
      finish()
      await eventually(
        'its end is recorded',
        async () => (await audited('erasure.end'))?.reason?.startsWith(`erasure ${open.erasure.id}`) === true,
      )
      assert.equal((await audited('erasure.end'))?.outcome, 'failed')
    })

    it('are erased for good while jobs are restored and copied, once for each job, and a repeated erasure finds nothing', async () => {
      const call = (method: string, path: string, body: object = {}) =>
        app.host.inject({ method, path, headers: { 'x-requested-with': 'test' }, body })
      for (let round = 0; round < 4; round++) {
        const marker = `race-${round}`
        const made = await queues().addBulk(
          'races',
          Array.from({ length: 40 }, (_, n) => ({
            name: 'x',
            data: { note: `${marker}-${n}` },
            options: { subject: 'racer', delay: 3_600_000 },
          })),
        )
        const ids = made.map(({ id = '' }) => id)
        const batch = `race-${randomUUID()}`
        for await (const _ of queues().deleteJobs('races', { state: 'delayed', before: Date.now() + 60_000 }, { batch, ms: 600_000 }));
        const others = await queues().addBulk(
          'races',
          Array.from({ length: 20 }, (_, n) => ({
            name: 'x',
            data: { note: `${marker}-kept-${n}` },
            options: { subject: 'racer', delay: 3_600_000 },
          })),
        )
        const undo = async () => {
          for await (const _ of queues().restoreJobs('races', batch));
        }
        const copy = async () => {
          for (const { id } of others.slice(0, 8)) await call('POST', `/api/jobs/races:${id}/duplicate`)
        }
        const turns = async (count: number) => {
          for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
        }
        const [first, second, third] = await Promise.all([
          erase('racer'),
          erase('racer'),
          erase('racer'),
          turns(round * 4).then(undo),
          turns(round * 7).then(copy),
          turns(30 - round * 8).then(undo),
        ])
        assert.deepEqual([first.status, second.status, third.status], [200, 200, 200])
        assert.equal(new Set([first.erasure.id, second.erasure.id, third.erasure.id]).size, 1, 'one erasure at a time')
        assert.ok(first.erasure.erased >= ids.length + others.length && first.erasure.erased <= ids.length + others.length + 8, first.text)
        await undo()
        assert.deepEqual(await queues().list('races', 'delayed', { offset: 0, limit: 100 }), [], `round ${round}`)
        assert.deepEqual(await queues().list('races', 'waiting', { offset: 0, limit: 100 }), [], `round ${round}`)
        assert.deepEqual(await queues().deletedJobs('races', { offset: 0, limit: 100 }), [], `round ${round}`)
        assert.equal((await erase('racer')).erasure.erased, 0)
      }
    })

    it('are erased from jobs, bulks, flows and schedules whose producers are between the index and the queue', async () => {
      const named = { subject: 'late', delay: 3_600_000 }
      const producers: Readonly<Record<string, () => Promise<unknown>>> = {
        add: () => queues().add('parked', 'x', {}, named),
        bulk: () =>
          queues().addBulk('parked', [{ name: 'x', options: named }, { name: 'y' }, { name: 'z', options: { subject: 'other' } }]),
        flow: () =>
          queues().addFlow({
            name: 'parent',
            queueName: 'parents',
            opts: { jobId: 'parent' },
            children: [{ name: 'child', queueName: 'parked', opts: { ...named, jobId: 'child' } }],
          }),
        schedule: () => queues().schedule('parked', 'yearly', { pattern: '0 0 1 1 *' }, { name: 'x', options: { subject: 'late' } }),
      }
      const all = async () => {
        const lists = (['waiting', 'delayed'] as const).map((one) => queues().list('parked', one, { offset: 0, limit: 100 }))
        return (await Promise.all(lists)).flat()
      }
      for (const [way, produce] of Object.entries(producers)) {
        const { arrived, release } = hold('parked')
        const producing = produce()
        await arrived
        const first = await erase('late')
        assert.deepEqual([first.erasure.state, first.erasure.erased], ['completed', 0], way)
        release()
        await producing
        assert.deepEqual(
          (await all()).filter(({ opts }) => opts.delay === 3_600_000),
          [],
          way,
        )
        assert.deepEqual(await queues().queue('parked').getJobSchedulers(), [], way)
        assert.equal((await erase('late')).erasure.erased, 0, way)
        // The jobs beside it, of others, stay.
        assert.equal((await all()).length, way === 'bulk' ? 2 : 0, way)
        await queues().purge(
          'parked',
          (await all()).map(({ id = '' }) => id),
        )
        await queues().purge('parents', ['parent'])
      }
    })

    it('are left in no job that cannot be found, whenever its producer and an erasure begin', async () => {
      for (let round = 0; round < 24; round++) {
        const turns = async (count: number) => {
          for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
        }
        // How long a producer takes from the index to the queue.
        held.set('explored', { pass: (data) => turns(round * 12).then(() => data) })
        const produce = () => queues().addBulk('explored', [{ name: 'x', options: { subject: 'explorer', delay: 3_600_000 } }])
        const [first] = await Promise.all([
          turns(Math.max(0, 12 - round)).then(() => erase('explorer')),
          turns(Math.max(0, round - 12)).then(produce),
          turns(round % 5).then(produce),
        ])
        const { delayed } = await queues().counts('explored')
        const again = await erase('explorer')
        // A job that was removed by its producer is not counted.
        assert.equal(again.erasure.erased, delayed, `round ${round}: ${first.text}`)
        assert.equal((await queues().counts('explored')).delayed, 0, `round ${round}`)
      }
      held.delete('explored')
    })

    it('are found by a repeated erasure in a job whose producer ended before it could remove it', async () => {
      const { arrived, release } = hold('crashed')
      const producing = queues().add('crashed', 'x', {}, { subject: 'late', jobId: 'lost', delay: 3_600_000 })
      await arrived
      const { erasure } = await erase('late')
      assert.equal(erasure.state, 'completed')
      // As it was sent, without the process that sent it.
      const sent = { jobId: 'lost', delay: 3_600_000, subject: packed([erasure.subject]) }
      await queues().queue('crashed').add('x', {}, sent)
      assert.equal((await erase('late')).erasure.erased, 1)
      assert.equal((await queues().counts('crashed')).delayed, 0)
      release()
      await producing
      assert.equal((await queues().counts('crashed')).delayed, 0)
      await queues().add('crashed', 'x', {}, { subject: 'late', jobId: 'lost', delay: 3_600_000 })
      assert.equal((await queues().counts('crashed')).delayed, 1, 'a job that is added afterwards stays, also with the same id')
      assert.equal((await erase('late')).erasure.erased, 1)
    })

    it('are erased from a dead letter that is on its way, however late it arrives', async () => {
      const { arrived, release } = hold('orders-dead')
      const failing = await add({ user: { id: 'dead' }, note: 'dead' }, { name: 'fails' })
      await arrived
      await eventually('it has failed', async () => (await state(failing)) === 'failed')
      const { erasure } = await erase('dead')
      assert.equal(erasure.state, 'completed')
      stored.length = 0
      release()
      await eventually('it is stored', async () => stored.includes('orders-dead'))
      await eventually('it is removed', async () => (await queues().counts('orders-dead')).waiting === 0)
      assert.equal((await erase('dead')).erasure.erased, 0)
    })

    it('are erased from a job whose processor names the subject in new data', async () => {
      const id = await add({ becomes: 'gus', note: 'new data' }, { name: 'becomes' })
      await eventually('it completes', async () => (await state(id)) === 'completed')
      assert.deepEqual([(await exported('gus')).jobs.length, (await erase('gus')).erasure.erased], [1, 1])
      assert.equal(await state(id), undefined)
    })

    it('are erased from jobs named by option when the key has changed and the earlier one is gone, or the erasure says that it cannot', async () => {
      const [old, next, other] = ['o', 'n', 'x'].map((letter) => letter.repeat(40)) as [string, string, string]
      const initial = 'a master key of more than 32 bytes, for tests'
      const again = async (more: Env) => {
        await app.stop()
        await boot(more)
      }
      const park = () => queues().add('rotated', 'x', { note: 'rotated' }, { subject: 'eli', delay: 3_600_000 })
      await again({ APP_KEY: old, APP_KEY_BK: JSON.stringify([initial]) })
      await park()
      await again({ APP_KEY: next, APP_KEY_BK: JSON.stringify([old]) })
      await park()
      await again({ APP_KEY: next })
      const found = await exported('eli')
      assert.deepEqual([found.jobs.length, found.complete], [2, true])
      assert.equal((await erase('eli')).erasure.erased, 2)
      assert.equal((await queues().counts('rotated')).delayed, 0)

      await park()
      await again({ APP_KEY: other })
      const incomplete = await exported('eli')
      assert.deepEqual([incomplete.jobs.length, incomplete.complete], [0, false])
      const failed = await erase('eli')
      assert.equal(failed.status, 503)
      assert.match(failed.text, /add it to APP_KEY_BK/)
      await again({ APP_KEY: initial, APP_KEY_BK: JSON.stringify([next, other]) })
      assert.equal((await erase('eli')).erasure.erased, 1)
    })

    it('are added within a transaction, or refused at once where it holds the only connection, and found if it is rolled back', async () => {
      const database = app.host.service(databaseService)
      const codeOf = (work: Promise<unknown>) =>
        work.then(
          () => 'added',
          ({ code }: { readonly code?: string }) => code,
        )
      let codes: unknown[] = []
      const rolledBack = database.transaction(async (tx) => {
        await tx.selectNoFrom((eb) => eb.lit(1).as('one')).execute()
        codes = [
          // Recorded in the audit log first.
          await codeOf(add({ user: { id: 'tess' }, note: 'in a transaction' })),
          // Past the audit log, but in the index of subjects.
          await codeOf(queues().add('parked', 'x', {}, { subject: 'tess' })),
          // Neither.
          await codeOf(queues().add('parked', 'x', {})),
        ]
        throw new Error('rolled back')
      })
      await assert.rejects(rolledBack, { message: 'rolled back' })
      const single = database.dialect === 'sqlite'
      assert.deepEqual(codes, single ? ['AUDIT_IN_TRANSACTION', 'DATABASE_OWN_TRANSACTION', 'added'] : ['added', 'added', 'added'])
      assert.equal((await exported('tess')).jobs.length, single ? 0 : 2)
      assert.equal((await queues().counts('parked')).waiting, single ? 1 : 2)
      assert.equal((await erase('tess')).erasure.erased, single ? 0 : 2)
      assert.equal(app.host.service(complianceService).audit.downSince, null)
    })

    it('are refused if the subject or the erasure is invalid', async () => {
      assert.equal((await app.host.inject({ method: 'GET', path: `/api/compliance/subjects/${'x'.repeat(201)}/export` })).status, 400)
      assert.equal((await app.host.inject({ method: 'GET', path: '/api/compliance/erasures/none' })).status, 404)
    })
  })
}
