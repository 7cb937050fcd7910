import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost } from 'zin/testing'
import config from './zin.config.js'

test('the app greets by name', async () => {
  const app = await createTestHost(config)
  try {
    const answer = await app.inject({ method: 'GET', path: '/hello/ada' })
    assert.deepEqual([answer.status, answer.body], [200, { hello: 'ada' }])
  } finally {
    await app.stop()
  }
})
