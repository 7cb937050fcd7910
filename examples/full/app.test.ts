import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workersService } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import config from './zin.config.js'

const env = {
  APP_KEY: 'a key that is long enough for tests only',
  BULLETPROOF_SIGNING_SECRET: 'a secret that is long enough for tests only',
  DEMO_PASSWORD: 'correct horse battery staple',
  WORKER_PERSISTENCE_DRIVER: 'db',
  WORKER_AUTO_START: 'true',
}

test('the app is ready, logs the demo user in, and runs its worker', async () => {
  const app = await createTestHost({ ...config, env, rootDir: import.meta.dirname })
  try {
    assert.equal((await app.inject({ method: 'GET', path: '/health/ready' })).status, 200)
    const body = { email: 'demo@example.com', password: env.DEMO_PASSWORD }
    assert.equal((await app.inject({ method: 'POST', path: '/auth/login', body })).status, 200)
    const wrong = { ...body, password: 'wrong' }
    assert.equal((await app.inject({ method: 'POST', path: '/auth/login', body: wrong })).status, 401)
    assert.equal((await app.service(workersService).start('email-sender')).worker.state, 'running')
  } finally {
    await app.stop()
  }
})
