import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost } from 'zin/testing'
import config from './zin.config.js'

test('x', async () => {
  const app = await createTestHost(config)
  console.log(app.logText())
  await app.stop()
})
