import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { type ListedState, queuesService } from 'zin/plugins/queues'
import { eventually } from '../../scripts/testing/eventually.js'
import type { Erasure } from './store/erasures.js'
import { type ComplianceApp, complianceApp, type Env } from './testing/app.js'

const states: readonly ListedState[] = ['waiting', 'active', 'delayed', 'waiting-children', 'completed', 'failed']

/** Jobs from before subjects were indexed, which change their state at a certain step of the first search. */
export function movingJobsContract(name: string, env: Env): void {
  describe(`jobs that are not indexed and move during the search, on ${name}`, () => {
    let dataDir: string
    let app: ComplianceApp
    let number = 0
    /** Called when a search reads the data of a job. */
    let onRead: ((note: string) => Promise<void>) | undefined
    const boot = async (gdpr: boolean): Promise<void> => {
      app = await complianceApp({
        env: {
          ...env,
          WORKER_GDPR: String(gdpr),
          WORKER_AUTO_START: 'false',
          APP_KEY: 'a master key of more than 32 bytes, for tests',
        },
        dataDir,
        options: { subjects: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`moving${n}`, ['user']])) },
        extra: [
          definePlugin({
            name: 'reads',
            version: '1.0.0',
            setup({ hooks }) {
              hooks.on('restoreJobData', async (data: unknown) => {
                const { note } = (data ?? {}) as { readonly note?: string }
                if (note !== undefined) await onRead?.(note)
                return data
              })
            },
          })(),
        ],
      })
    }
    const queues = () => app.host.service(queuesService)
    const post = (path: string, body: object = {}) =>
      app.host.inject({ method: 'POST', path, headers: { 'x-requested-with': 'test' }, body })
    const erase = async () => {
      const path = '/api/compliance/subjects/ann?wait=30000'
      const { text } = await app.host.inject({ method: 'DELETE', path, headers: { 'x-requested-with': 'test' } })
      return (JSON.parse(text).erasure ?? assert.fail(text)) as Erasure
    }
    const left = async (queue: string) => {
      const lists = states.map((state) => queues().list(queue, state, { offset: 0, limit: 500 }))
      return [...(await Promise.all(lists)).flat(), ...(await queues().deletedJobs(queue, { offset: 0, limit: 500 }))].length
    }
    const add = (queue: string, count: number, note: string, options: object = {}) =>
      queues().addBulk(
        queue,
        Array.from({ length: count }, () => ({ name: note, data: { user: 'ann', note }, options: { attempts: 1, ...options } })),
      )
    const failAll = async (queue: string, count: number): Promise<void> => {
      await add(queue, count, 'fails')
      const worker = queues().worker(queue, () => Promise.reject(new Error('no')), { concurrency: 10 })
      await eventually('they fail', async () => (await queues().counts(queue)).failed === count)
      await worker.close()
    }

    interface Case {
      /** Adds jobs while they are not indexed. Returns the number of jobs. */
      arrange(queue: string): Promise<number>
      /** The job whose data are read when the others move, and how many were read before it. */
      readonly when: { readonly note: string; readonly read: number }
      move(queue: string): Promise<void>
    }
    let finish: () => void = () => undefined
    const cases: Readonly<Record<string, Case>> = {
      'retried by an operator': {
        async arrange(queue) {
          await failAll(queue, 60)
          return 60
        },
        when: { note: 'fails', read: 30 },
        async move(queue) {
          const { status, text } = await post(`/api/queue/${queue}/retry?wait=30000`)
          assert.equal(status, 200, text)
          assert.equal((await queues().counts(queue)).failed, 0)
        },
      },
      'restored by an undo': {
        async arrange(queue) {
          await add(queue, 60, 'deleted')
          const undo = { batch: `undo-${queue}`, ms: 600_000 }
          for await (const _ of queues().deleteJobs(queue, { state: 'waiting', before: Date.now() + 60_000 }, undo));
          return 60
        },
        when: { note: 'deleted', read: 30 },
        async move(queue) {
          for await (const _ of queues().restoreJobs(queue, `undo-${queue}`));
          assert.equal((await queues().counts(queue)).waiting, 60)
        },
      },
      'delayed until their next attempt': {
        async arrange(queue) {
          await add(queue, 1, 'backs off', { attempts: 5, backoff: { type: 'fixed', delay: 3_600_000 } })
          await add(queue, 5, 'waits', { priority: 5 })
          return 6
        },
        when: { note: 'waits', read: 1 },
        async move(queue) {
          finish()
          await eventually('it is delayed', async () => (await queues().counts(queue)).delayed === 1)
        },
      },
      'released by their children': {
        async arrange(queue) {
          await queues().addFlow({
            name: 'parent',
            queueName: queue,
            data: { user: 'ann', note: 'parent' },
            opts: { attempts: 1 },
            children: [{ name: 'child', queueName: `${queue}-children`, data: {} }],
          })
          await failAll(queue, 5)
          return 6
        },
        when: { note: 'fails', read: 1 },
        async move(queue) {
          const worker = queues().worker(`${queue}-children`, async () => 'done')
          await eventually('the parent waits for a worker', async () => (await queues().counts(queue)).waiting === 1)
          await worker.close()
        },
      },
    }

    beforeEach(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'zin-moving-'))
      await boot(false)
    })
    afterEach(async () => {
      onRead = undefined
      await app.stop()
      await rm(dataDir, { recursive: true, force: true })
    })

    for (const [what, { arrange, move, when }] of Object.entries(cases)) {
      it(`are erased and counted once if they are ${what}`, async () => {
        const queue = `moving${number++}`
        const count = await arrange(queue)
        assert.equal(await left(queue), count)
        await app.stop()
        await boot(true)
        if (what.startsWith('delayed')) {
          const worker = queues().worker(queue, () => new Promise((_resolve, reject) => (finish = () => reject(new Error('no')))))
          await eventually('one runs', async () => (await queues().counts(queue)).active === 1)
          void worker.pause(true)
        }
        let [read, moved] = [0, false]
        onRead = async (note) => {
          if (note !== when.note || read++ < when.read || moved) return
          moved = true
          await move(queue)
        }
        const { erased, state } = await erase()
        assert.deepEqual([moved, state, erased, await left(queue)], [true, 'completed', count, 0])
        assert.equal((await erase()).erased, 0)
      })
    }
  })
}
