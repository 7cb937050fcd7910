import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { createTestHost, type TestHost } from 'zin/testing'
import { createHistory } from '../migrations/0001-create-history.js'
import type { HealthSample } from '../outcome.js'
import type { HistoryStore } from './contract.js'
import { databaseHistory } from './db.js'
import { memoryHistory } from './memory.js'

const sample = (worker: string, at: number, more: Partial<HealthSample> = {}): HealthSample => ({
  worker,
  node: 'host:1',
  at,
  healthy: true,
  score: 100,
  durationMs: 3,
  error: null,
  ...more,
})

function contract(title: string, store: () => HistoryStore): void {
  it(`keeps samples by worker, newest first, on ${title}`, async () => {
    const failed = sample('one', 2000, { healthy: false, score: 70, error: 'down' })
    for (const one of [sample('one', 1000), failed, sample('one', 3000), sample('two', 2500)]) await store().add(one)
    assert.deepEqual(await store().read('one', 2000, 10), [sample('one', 3000), failed])
    assert.deepEqual(await store().read('one', 0, 1), [sample('one', 3000)])
    assert.deepEqual(await store().read('none', 0, 10), [])
    await store().prune(2600)
    assert.deepEqual(await store().read('one', 0, 10), [sample('one', 3000)])
    assert.deepEqual(await store().read('two', 0, 10), [])
  })
}

describe('the history of health checks', () => {
  let host: TestHost
  before(async () => {
    const tables = definePlugin({
      name: 'tables',
      version: '1.0.0',
      uses: { database: databaseService },
      setup: (ctx) => ctx.migration(createHistory),
    })
    host = await createTestHost({ plugins: [database(), tables()] })
  })
  after(() => host.stop())
  const memory = memoryHistory()
  contract('memory', () => memory)
  contract('SQLite', () => databaseHistory(host.service(databaseService)))
})
