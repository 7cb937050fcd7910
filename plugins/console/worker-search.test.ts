import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workers, WorkerView } from 'zin/plugins/workers'
import { WorkerSearch } from './worker-search.js'

const listing = (list: Workers['list']): (() => Workers) => {
  const service = { enabled: true, list } as unknown as Workers
  return () => service
}

test('a search for workers reads at most 10,000 of them, once for all searches at the same time, and says if there are more', async () => {
  const pages: (number | undefined)[] = []
  const search = new WorkerSearch(
    listing(async ({ page = 1 } = {}) => {
      pages.push(page)
      const workers = Array.from({ length: 100 }, (_, n) => ({ name: `w${(page - 1) * 100 + n}`, state: 'stopped' }) as WorkerView)
      return { workers, pagination: { page, limit: 100, total: 20_000, totalPages: 200 } }
    }),
  )
  const [one, other] = await Promise.all([search.find('w9999', 8), search.find('w10000', 8)])
  assert.deepEqual([one.workers.map(({ name }) => name), one.total, one.searched, one.complete], [['w9999'], 1, 10_000, false])
  assert.deepEqual(other.workers, [])
  assert.equal(pages.length, 100)
})

test('a search for workers ends if they cannot be read in time', async () => {
  const search = new WorkerSearch(
    listing(() => new Promise(() => undefined)),
    1,
  )
  await assert.rejects(search.find('a', 8), { code: 'ZIN_DEADLINE', status: 503 })
})

test('a search without workers finds nothing', async () => {
  assert.deepEqual(await new WorkerSearch(() => undefined).find('a', 8), { workers: [], total: 0, searched: 0, complete: true })
})
