import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import type { DataRecord, DataStore } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { type Queues, queuesService } from 'zin/plugins/queues'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import type { Erasure } from './store/erasures.js'
import { complianceApp, type Env } from './testing/app.js'

export interface RestoredStores {
  readonly env: Env
  /** Copies the store of the queues of a stopped app. Returns a function that sets it back to the copy. */
  readonly copyQueues: (dataDir: string) => Promise<() => Promise<void>>
  close(): Promise<void>
}

const tables = ['zin_subject_jobs', 'zin_compliance_marks'] as const

/** Each store is set back to a copy from before an erasure, the other one stays. */
export function restoredStoresContract(name: string, open: () => Promise<RestoredStores>): void {
  for (const what of ['the queues', 'the tables', 'the queues by an import'] as const) {
    it(`an export and an erasure find all jobs of a subject once a copy of ${what} was restored, on ${name}`, async (t) => {
      const clean = cleanUp(t)
      const { close, copyQueues, env } = await open()
      clean(close)
      const dataDir = await mkdtemp(join(tmpdir(), 'zin-restored-'))
      clean(() => rm(dataDir, { recursive: true, force: true }))
      const boot = () =>
        complianceApp({
          env: {
            ...env,
            WORKER_GDPR: 'true',
            WORKER_AUTO_START: 'false',
            APP_KEY: 'a master key of more than 32 bytes, for tests',
          },
          dataDir,
          options: { subjects: { orders: ['user.id'] } },
        })
      let app = await boot()
      clean(() => app.stop())
      const whileStopped = async <T>(work: () => Promise<T>): Promise<T> => {
        await app.stop()
        const result = await work()
        app = await boot()
        return result
      }
      // As data:import sees it.
      const queues = () => app.host.service(queuesService) as Queues & { data(): Promise<DataStore> }
      const db = () => app.host.service(databaseService).tables()
      const erase = async (subject: string): Promise<Erasure> => {
        const path = `/api/compliance/subjects/${subject}?wait=20000`
        const { text } = await app.host.inject({ method: 'DELETE', path, headers: { 'x-requested-with': 'test' } })
        return JSON.parse(text).erasure ?? assert.fail(text)
      }
      const exported = async (): Promise<number> =>
        JSON.parse((await app.host.inject({ method: 'GET', path: '/api/compliance/subjects/ann/export' })).text).jobs.length
      const add = (user: string, options: object = {}) =>
        queues().add('orders', 'x', { user: { id: user } }, { delay: 3_600_000, ...options })
      const copies = {
        'the queues': async () => {
          const setBack = await whileStopped(() => copyQueues(dataDir))
          return () => whileStopped(setBack)
        },
        'the queues by an import': async () => {
          const records: DataRecord[] = []
          for await (const record of (await queues().data()).read()) records.push(record)
          return async () => {
            const store = await queues().data()
            await store.clear()
            await store.write(records)
          }
        },
        'the tables': async () => {
          const rows = await Promise.all(tables.map(async (table) => [table, await db().selectFrom(table).selectAll().execute()] as const))
          return async () => {
            for (const [table, copy] of rows) {
              await db().deleteFrom(table).execute()
              if (copy.length > 0) await db().insertInto(table).values(copy).execute()
            }
          }
        },
      }
      await add('ann')
      await add('bob')
      assert.equal((await erase('nobody')).state, 'completed')
      const setBack = await copies[what]()
      await add('ann', { jobId: 'later' })
      if (what === 'the tables') assert.equal((await erase('bob')).erased, 1)
      else assert.equal((await erase('ann')).erased, 2)
      await setBack()
      const left = what === 'the tables' ? 2 : 1
      assert.equal(await exported(), left)
      await setBack()
      assert.equal((await erase('ann')).erased, left)
      assert.equal(await exported(), 0)
    })
  }
}
