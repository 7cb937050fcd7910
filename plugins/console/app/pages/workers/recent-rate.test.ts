import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recentRate } from './recent-rate.js'

test('the recent rate of a worker counts the current minute only for the part that has passed', () => {
  const now = Date.parse('2026-11-24T12:10:30Z')
  const counts = Array.from({ length: 60 }, (_, ago) => {
    const start = Math.floor(now / 60_000) * 60_000 - ago * 60_000
    return { minute: new Date(start).toISOString(), completed: ago === 0 ? 300 : 540, failed: ago === 0 ? 0 : 60, p95Ms: null }
  })
  assert.equal(recentRate(counts, now), 10)
  assert.equal(recentRate([], now), 0)
})
