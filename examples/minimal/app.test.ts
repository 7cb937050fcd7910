import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost } from 'zin/testing'
import config from './zin.config.js'

test('the app greets by name', async () => {
  const app = await createTestHost(config)
  try {
    const response = await app.inject({ method: 'GET', path: '/hello/ada' })
    assert.deepEqual([response.status, response.body], [200, { hello: 'ada' }])
  } finally {
    await app.stop()
  }
})
