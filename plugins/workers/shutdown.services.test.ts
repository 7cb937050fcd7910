import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'

const config = `
import { defineConfig } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
  shutdown: { deadlineMs: 6_000 },
})
`

/** Reports what it does, and in one process waits until its worker stops. */
const job = `
import { once } from 'node:events'
export default async (job, _token, signal) => {
  console.log('began ' + job.id)
  if (process.env.WAITS) {
    await once(signal, 'abort')
    throw new Error('aborted')
  }
  console.log('did ' + job.id)
}
`

describe('two processes, one of which is terminated while it restarts a worker', { timeout: 60_000 }, () => {
  let app: AppFolder
  before(async () => {
    app = await appFolder({ 'zin.config.mjs': config, 'processors/job.mjs': job })
  })
  after(() => app.remove())

  it('end in time with exit code 0, and the other one does the released job', async () => {
    const env = {
      REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
      WORKER_PERSISTENCE_DRIVER: 'kvstore',
      WORKER_AUTO_START: 'true',
      WORKER_TIMEOUT: '600',
    }
    const first = await app.start({ ...env, WAITS: 'true' })
    const post = async (path: string, body: object = {}) => {
      const response = await fetch(`${first.url}/api/workers${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-requested-with': 'test' },
        body: JSON.stringify(body),
      })
      assert.ok(response.ok, await response.clone().text())
      return response.json()
    }
    await post('', { name: 'mailer', queueName: 'mail', processor: 'job.mjs' })
    const { job: given } = (await post('/mailer/jobs', { data: null })) as { readonly job: { readonly id: string } }
    await first.said(new RegExp(`began ${given.id}`))
    const second = await app.start(env)
    await post('/mailer/restart?wait=0')
    assert.equal(await first.end(), 0, first.output())
    assert.doesNotMatch(first.output(), /hung|did not stop/)
    await second.said(new RegExp(`did ${given.id}`))
    const answer = await fetch(`${second.url}/api/workers/mailer/jobs/${given.id}`, { headers: { 'x-requested-with': 'test' } })
    assert.equal(((await answer.json()) as { readonly job: { readonly attempts: number } }).job.attempts, 1)
    assert.equal(await second.end(), 0, second.output())
  })
})
