import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'
import { eventually } from '../../scripts/testing/eventually.js'

const config = `
import { defineConfig } from 'zin'
import { breaker } from 'zin/plugins/breaker'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [database(), kv(), cluster(), queues(), ops(), workers(), decisions(), breaker()],
})
`

describe('zin why and zin circuit:*', () => {
  let app: AppFolder
  let running: RunningApp
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${running.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-requested-with': 'test' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return response.json()
  }
  before(async () => {
    app = await appFolder({
      'zin.config.mjs': config,
      '.env': 'WORKER_AUTO_START=true\n',
      'processors/job.mjs': 'export default () => Promise.reject(new Error("no mail server"))',
    })
    running = await app.start()
    const features = { circuitBreaker: true }
    await call('POST', '/api/workers', { name: 'mailer', queueName: 'mail', processor: 'job.mjs', features })
    for (let jobs = 0; jobs < 5; jobs++) await call('POST', '/api/workers/mailer/jobs', { data: jobs, options: { attempts: 1 } })
    await eventually('it is open', async () => (await call('GET', '/api/workers/mailer/circuit')).circuit.state === 'open')
  })
  after(async () => {
    await running.end()
    await app.remove()
  })

  it('show why a circuit is open, close it, and show that', async () => {
    const status = await app.zin(['circuit:status', 'mailer'])
    assert.match(status.out, /^mailer: open\n {2}open since \S+Z: 5 jobs in a row failed\n {2}probes run from \S+Z\n$/, status.err)
    const reset = await app.zin(['circuit:reset', 'mailer'])
    assert.equal(reset.out, 'mailer: closed\n', reset.err)
    const why = await app.zin(['why', 'mailer'])
    const time = String.raw`  \d\d:\d\d:\d\d  breaker`
    const told = new RegExp(
      `^\\S+ \\(UTC\\)\n${time} open\n {12}Opened for 30 s: 5 jobs in a row failed\n${time} closed, by .*\n {12}Closed by an operator\n$`,
    )
    assert.match(why.out, told, why.err)
    const { out } = await app.zin(['why', 'mailer', '--limit', '1', '--json'])
    assert.deepEqual(
      JSON.parse(out).map(({ verdict, rule }: { verdict: string; rule: string }) => [verdict, rule]),
      [['closed', 'breaker/reset']],
    )
    const unknown = await app.zin(['circuit:reset', 'nobody'])
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /WORKER_NOT_FOUND/)
  })
})
