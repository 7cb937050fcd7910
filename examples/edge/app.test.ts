import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost } from 'zin/testing'
import config from './zin.config.js'

// A test host does not read .env, so the notes are stored in a temporary SQLite file.
test('the app keeps notes', async () => {
  const app = await createTestHost(config)
  try {
    const put = await app.inject({ method: 'PUT', path: '/notes/1', body: { text: 'hello' } })
    const all = await app.inject({ method: 'GET', path: '/notes' })
    assert.deepEqual([put.status, all.body], [200, { notes: [{ id: '1', text: 'hello' }] }])
  } finally {
    await app.stop()
  }
})
