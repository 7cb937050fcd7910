import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { it } from 'node:test'
import { parse } from 'yaml'
import { health } from 'zin/plugins/health'
import { jwt } from 'zin/plugins/jwt'
import { ops } from 'zin/plugins/ops'
import { createTestHost } from 'zin/testing'
import { metricsService, observability } from './index.js'
import { folder } from './testing/queries.js'

const compose = readFileSync(new URL('../../examples/full/compose.yml', folder), 'utf8')
const { services } = parse(compose) as { readonly services: { readonly app: { readonly environment: Readonly<Record<string, string>> } } }
// Those of other plugins are checked with the whole example, see scripts/manifests.process.test.ts.
const env = Object.fromEntries(Object.entries(services.app.environment).filter(([name]) => /^(PORT|OPS_|METRICS_)/.test(name)))

it('the compose file of the full example sets settings with which Prometheus reaches the metrics, and the ports are those it publishes', async (t) => {
  const host = await createTestHost({
    plugins: [ops(), jwt(), health(), observability()],
    env: { NODE_ENV: 'test', JWT_SECRET: 'x'.repeat(32), ...env, PORT: '0', METRICS_PORT: '0' },
  })
  t.after(() => host.stop())
  const settings = host.host.view.settings().map(({ name }) => name)
  assert.deepEqual(
    Object.keys(env).filter((name) => !settings.includes(name)),
    [],
  )
  assert.ok(compose.includes(`ports: ["127.0.0.1:${env.PORT}:${env.PORT}"]`))
  assert.ok(compose.includes(`fetch('http://127.0.0.1:${env.PORT}/health/ready')`))
  assert.ok(host.host.view.routes().some(({ path }) => path === '/health/ready'))
  const [, target] = /targets: \["(.+)"\]/.exec(readFileSync(new URL('prometheus/prometheus.yml', folder), 'utf8')) ?? []
  assert.equal(target, `app:${env.METRICS_PORT}`)
  const { address } = host.service(metricsService)
  assert.equal(address?.host, '0.0.0.0')
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: '127.0.0.1', port: address.port, path: '/metrics', headers: { host: target } }, resolve).on('error', reject)
  })
  response.resume()
  assert.equal(response.statusCode, 200)
})
