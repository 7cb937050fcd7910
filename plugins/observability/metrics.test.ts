import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { definePlugin, type MetricSample, type Plugin } from 'zin'
import { autoscale } from 'zin/plugins/autoscale'
import { breaker } from 'zin/plugins/breaker'
import { bulletproof } from 'zin/plugins/bulletproof'
import { type CanaryState, canary, canaryService } from 'zin/plugins/canary'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { microservices, microservicesService } from 'zin/plugins/microservices'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { type AttemptOutcome, type WorkerState, workers, workersService } from 'zin/plugins/workers'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { metricsService, observability } from './index.js'
import { AttemptMetrics } from './metrics/attempts.js'
import { type ParsedFamily, parseMetrics } from './testing/parse-metrics.js'
import { alertQueries, knownSeries, panelQueries, unfiltered, unknownNames, variableQueries } from './testing/queries.js'

const on = { METRICS_EXPORT_ENABLED: 'true', METRICS_PORT: '0' }

async function minimal(t: TestContext, env: Readonly<Record<string, string>> = {}, ...more: Plugin[]) {
  const host = await createTestHost({ plugins: [ops(), observability(), ...more], env: { NODE_ENV: 'test', ...env } })
  t.after(() => host.stop())
  return host
}

async function scrape(host: TestHost, accept = ''): Promise<ReadonlyMap<string, ParsedFamily>> {
  const { address } = host.service(metricsService)
  const response = await fetch(`http://127.0.0.1:${address?.port}/metrics`, { headers: { accept } })
  assert.equal(response.status, 200)
  return parseMetrics(await response.text(), accept === '' ? 'text' : 'openmetrics')
}

describe('the exporter', () => {
  it('does nothing unless METRICS_EXPORT_ENABLED is true', async (t) => {
    const host = await minimal(t)
    assert.equal(host.service(metricsService).address, undefined)
    assert.equal((await host.inject({ method: 'GET', path: '/metrics' })).status, 404)
    const listens = host.host.view.hooks().flatMap(({ listeners }) => listeners.filter(({ plugin }) => plugin === 'observability'))
    assert.deepEqual(listens, [])
  })

  it('serves only /metrics, on a separate port that only this machine can reach', async (t) => {
    const host = await minimal(t, on)
    const { address } = host.service(metricsService)
    assert.equal(address?.host, '127.0.0.1')
    const base = `http://127.0.0.1:${address.port}`
    assert.equal((await scrape(host)).get('process_resident_memory_bytes')?.type, 'gauge')
    assert.equal((await fetch(`${base}/`)).status, 404)
    assert.equal((await fetch(`${base}/metrics`, { method: 'POST' })).status, 405)
    assert.equal((await fetch(`${base}/metrics`, { method: 'HEAD' })).status, 200)
    const rebound = await new Promise<number | undefined>((resolve) => {
      get(`${base}/metrics`, { headers: { host: 'evil.example' } }, (response) => resolve(response.resume().statusCode))
    })
    assert.equal(rebound, 421)
  })

  it('responds although other clients hold as many connections as it allows, without a request or with half of one', async (t) => {
    const host = await minimal(t, on)
    const port = host.service(metricsService).address?.port ?? 0
    const held = Array.from({ length: 120 }, (_, i) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      if (i % 2 === 0) socket.write('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n')
      return socket
    })
    t.after(() => held.forEach((socket) => void socket.destroy()))
    await Promise.all(held.map((socket) => once(socket, 'connect')))
    for (let n = 0; n < 5; n++) assert.ok((await scrape(host)).size > 0)
  })

  it('binds to METRICS_HOST', async (t) => {
    const host = await minimal(t, { ...on, METRICS_HOST: '0.0.0.0' })
    assert.equal(host.service(metricsService).address?.host, '0.0.0.0')
  })

  it('does not start while METRICS_PORT is in use, and explains what to do', async (t) => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    t.after(() => other.close())
    const { port } = other.address() as AddressInfo
    await assert.rejects(minimal(t, { ...on, METRICS_PORT: String(port) }), (error: Error) => {
      assert.match(String(error.message), new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use\\. Set METRICS_PORT to a free port`))
      return true
    })
  })

  it('serves the same on the main port to operators only', async (t) => {
    const host = await minimal(t, on)
    const open = await host.inject({ method: 'GET', path: '/metrics' })
    assert.equal(open.status, 200)
    assert.match(String(open.headers['content-type']), /^text\/plain; version=0\.0\.4/)
    assert.ok(parseMetrics(String(open.body), 'text').has('process_cpu_seconds_total'))
    const openMetrics = await host.inject({ method: 'GET', path: '/metrics', headers: { accept: 'application/openmetrics-text' } })
    assert.ok(parseMetrics(String(openMetrics.body), 'openmetrics').has('process_cpu_seconds'))
    const guarded = await minimal(t, { ...on, OPS_AUTH: 'required', JWT_SECRET: 'x'.repeat(32) }, jwt())
    assert.equal((await guarded.inject({ method: 'GET', path: '/metrics' })).status, 401)
  })

  it('shows metrics of third-party plugins, and leaves out invalid ones with one warning', async (t) => {
    const samples: readonly unknown[] = [
      { name: 'shop_orders_total', help: 'Orders', type: 'counter', value: 3, labels: { country: 'nl' } },
      { name: 'shop_depth', help: 'Depth', type: 'gauge', value: Number.NaN },
      { name: 'shop depth', help: 'Depth', type: 'gauge', value: 1 },
      { name: 'shop_all_total', help: 'All', type: 'gauge', value: 1 },
      { name: 'process_cpu_seconds_total', help: 'Mine', type: 'counter', value: 1 },
    ]
    const shop = definePlugin({
      name: 'shop',
      version: '1.0.0',
      setup: ({ hooks }) => void hooks.on('collectMetrics', () => samples as readonly MetricSample[]),
    })
    const broken = definePlugin({
      name: 'broken',
      version: '1.0.0',
      setup: ({ hooks }) =>
        void hooks.on('collectMetrics', () => {
          throw new Error('the shelf fell')
        }),
    })
    const host = await minimal(t, on, shop(), broken())
    await scrape(host)
    const families = await scrape(host)
    assert.equal(families.get('shop_orders_total')?.samples[0]?.value, 3)
    assert.deepEqual([families.has('shop_depth'), families.has('shop_all_total')], [false, false])
    assert.ok((families.get('process_cpu_seconds_total')?.samples.length ?? 0) === 1)
    const warnings = host.logs.map(({ msg }) => String(msg)).filter((line) => line.includes('was left out'))
    assert.equal(warnings.length, new Set(warnings).size)
    for (const pattern of [/"shop" was left out: the value of "shop_depth" is NaN/, /"broken" was left out: it failed: the shelf fell/])
      assert.ok(
        warnings.some((line) => pattern.test(line)),
        `${pattern}`,
      )
    const refused = families.get('zin_metrics_refused_samples_total')?.samples ?? []
    assert.ok((refused.find(({ labels }) => labels.plugin === 'shop')?.value ?? 0) >= 4)
  })

  it('does not grow with hostile paths and methods', async (t) => {
    const host = await minimal(t, on)
    const count = async () => (await scrape(host)).get('zin_http_request_duration_seconds')?.samples.length
    await host.inject({ method: 'GET', path: '/none' })
    const before = await count()
    for (let n = 0; n < 10_000; n += 100)
      await Promise.all(Array.from({ length: 100 }, (_, one) => host.inject({ method: 'GET', path: `/hostile/${n + one}%22%0a` })))
    assert.equal(await count(), before)
    const unmatched = (await scrape(host)).get('zin_http_request_duration_seconds')?.samples ?? []
    assert.ok(unmatched.some(({ labels, name, value }) => name.endsWith('_count') && labels.route === 'unmatched' && value === 10_001))
  })
})

/** A plugin with an invalid metric. */
const untidy = definePlugin({
  name: 'untidy',
  version: '1.0.0',
  setup: ({ hooks }) =>
    void hooks.on('collectMetrics', () => [{ name: 'untidy_depth', help: 'Depth', type: 'gauge' as const, value: Number.NaN }]),
})

const scaled = { WORKER_HEALTH_CHECK_INTERVAL: '1', WORKER_AUTO_SCALING_ENABLED: 'true', WORKER_AUTO_SCALING_INTERVAL: '1' }

/** Label values that queries use and the app below does not report. */
const possible = {
  zin_worker_attempt_duration_seconds: { outcome: ['failed', 'lost', 'timedOut', 'deferred'] satisfies readonly AttemptOutcome[] },
  zin_worker_state: { state: ['FAILED'] satisfies readonly WorkerState[] },
  zin_canary_state: { state: ['PAUSED'] satisfies readonly CanaryState[] },
}

function routesOf({ host }: TestHost) {
  return { zin_http_request_duration_seconds: { status: ['404', '500'], route: host.view.routes().map(({ path }) => path) } }
}

describe('the metrics of an app', () => {
  let host: TestHost
  const prices = createServer((request, response) => void response.writeHead(request.url === '/bad' ? 503 : 200).end('{}'))
  before(async () => {
    await new Promise<void>((resolve) => prices.listen(0, '127.0.0.1', resolve))
    host = await createTestHost({
      plugins: [
        database(),
        kv(),
        cluster(),
        queues(),
        ops(),
        decisions(),
        workers(),
        breaker(),
        canary(),
        workerHealth(),
        autoscale(),
        microservices({ services: { prices: { url: `http://127.0.0.1:${(prices.address() as AddressInfo).port}`, auth: 'none' } } }),
        queueMonitor(),
        jwt(),
        bulletproof(),
        compliance(),
        untidy(),
        observability(),
      ],
      env: { NODE_ENV: 'test', CLUSTER_HEARTBEAT_MS: '500', ...scaled, ...on },
      routes: [
        {
          method: 'GET',
          path: '/shops/:id',
          summary: 'A shop',
          handler: () => ({ ok: true }),
        },
      ],
    })
    const service = host.service(workersService)
    service.registerAll({ 'mail-sender': async () => 1, quiet: async () => 1 })
    const features = { circuitBreaker: true, healthMonitoring: true, autoScaling: true }
    await service.create({ name: 'mail-sender', queueName: 'mails', features })
    await service.create({ name: 'quiet', queueName: 'quiet', features: { observability: false } })
    for (const name of ['mail-sender', 'quiet']) {
      await service.start(name)
      await service.enqueue(name, {})
    }
    await host.inject({ method: 'GET', path: '/shops/1' })
    await host.inject({ method: 'GET', path: '/shops/2' })
  })
  after(async () => {
    await host.stop()
    prices.close()
    prices.closeAllConnections()
  })

  it('count requests by the template of their route', async () => {
    const samples = (await scrape(host)).get('zin_http_request_duration_seconds')?.samples ?? []
    const count = samples.find(({ labels, name }) => name.endsWith('_count') && labels.route === '/shops/:id')
    assert.deepEqual([count?.value, count?.labels.method, count?.labels.status], [2, 'GET', '200'])
  })

  it('count attempts by worker, version and outcome, unless the worker has no own series', async () => {
    const attempts = async () =>
      ((await scrape(host)).get('zin_worker_attempt_duration_seconds')?.samples ?? [])
        .filter(({ name }) => name.endsWith('_count'))
        .map(({ labels, value }) => [labels.worker, labels.version, labels.outcome, value])
    await eventually('both jobs are counted', async () => (await attempts()).length === 2)
    assert.deepEqual((await attempts()).sort(), [
      ['mail-sender', '1.0.0', 'completed', 1],
      ['other', 'other', 'completed', 1],
    ])
  })

  it('include the states of queues, workers, circuits, canaries and nodes', async () => {
    await eventually('this node samples the queues', async () => (await scrape(host)).has('zin_queue_jobs'))
    const service = host.service(workersService)
    await service.registerVersion('mail-sender', { version: '2.0.0', processor: async () => 2 })
    await service.update('mail-sender', { features: { circuitBreaker: true, canary: true, healthMonitoring: true, autoScaling: true } })
    await host.service(canaryService).start('mail-sender', { newVersion: '2.0.0', duration: 3_600_000, steps: [20] })
    await eventually('the canary is known', async () => (await scrape(host)).has('zin_canary_state'))
    const families = await scrape(host)
    const seriesValue = (family: string, wanted: Readonly<Record<string, string>>) =>
      families.get(family)?.samples.find(({ labels }) => Object.entries(wanted).every(([name, value]) => labels[name] === value))?.value
    assert.equal(seriesValue('zin_queue_jobs', { queue: 'mails', state: 'waiting' }), 0)
    assert.equal(seriesValue('zin_queue_oldest_waiting_seconds', { queue: 'mails' }), 0)
    assert.equal(seriesValue('zin_worker_state', { worker: 'mail-sender', state: 'running' }), 1)
    assert.equal(seriesValue('zin_breaker_state', { worker: 'mail-sender', state: 'closed' }), 1)
    assert.equal(seriesValue('zin_cluster_nodes', { state: 'alive' }), 1)
    assert.ok(seriesValue('zin_canary_traffic_ratio', { worker: 'mail-sender', version: '2.0.0' }) !== undefined)
    assert.ok((seriesValue('zin_hook_calls_total', { hook: 'onAttemptEnd', plugin: 'observability' }) ?? 0) >= 2)
  })

  it('include calls, retries and circuits of services, and the scale and health checks of workers', async () => {
    const services = host.service(microservicesService)
    await services.callService('prices', { path: '/today' })
    await services.callService('prices', { path: '/bad' })
    let families: ReadonlyMap<string, ParsedFamily> = new Map()
    await eventually('the worker was checked and evaluated', async () => {
      families = await scrape(host)
      return families.has('zin_worker_healthy') && families.has('zin_autoscale_desired_workers')
    })
    const valuesOf = (family: string) =>
      (families.get(family)?.samples ?? []).flatMap(({ labels, name, value }) =>
        /_(bucket|sum)$/.test(name) ? [] : [[...Object.values(labels), value].join(' ')],
      )
    assert.deepEqual(valuesOf('zin_service_call_duration_seconds').sort(), ['prices failed 1', 'prices ok 1'])
    assert.match(valuesOf('zin_service_retries_total')[0] ?? '', /^prices [1-9]/)
    assert.deepEqual(valuesOf('zin_service_up'), ['prices prices-1 1'])
    assert.deepEqual(valuesOf('zin_service_circuit_state'), [
      'prices prices-1 closed 1',
      'prices prices-1 half-open 0',
      'prices prices-1 open 0',
    ])
    assert.deepEqual(valuesOf('zin_worker_healthy'), ['mail-sender 1'])
    assert.deepEqual(valuesOf('zin_worker_check_failures'), ['mail-sender 0'])
    assert.deepEqual(valuesOf('zin_autoscale_desired_workers'), ['mail-sender 1'])
    assert.deepEqual(valuesOf('zin_autoscale_backlog_jobs'), ['mail-sender 0'])
  })

  it('count decisions about signed requests by the layer that refused', async () => {
    assert.equal((await host.inject({ method: 'GET', path: '/auth/devices' })).status, 401)
    await eventually('a refusal is counted', async () =>
      ((await scrape(host)).get('zin_auth_decisions_total')?.samples ?? []).some(
        ({ labels, value }) => labels.outcome === 'refused' && labels.layer === '1' && value === 1,
      ),
    )
  })

  it('have the names, labels and label values that the dashboard and the alert rules use', async () => {
    const known = knownSeries(await scrape(host), { ...possible, ...routesOf(host) })
    const queries = [...panelQueries(), ...variableQueries(), ...alertQueries()]
    assert.ok(queries.length >= 49)
    const unfilteredPanels = panelQueries().flatMap((query) => unfiltered(query, known))
    assert.deepEqual([...queries.flatMap((query) => unknownNames(query, known)), ...unfilteredPanels], [])
    const wrong: readonly (readonly [problem: string, expr: string, shown?: readonly string[]])[] = [
      ['the metric zin_queue_job', 'zin_queue_job{state="waiting"}'],
      ['the metric zin_http_request_duration_seconds', 'rate(zin_http_request_duration_seconds[5m])'],
      ['zin_queue_jobs{kind}', 'zin_queue_jobs{kind="waiting"}'],
      ['zin_queue_jobs{state="wait"}', 'zin_queue_jobs{state="wait"}'],
      ['zin_auth_decisions_total{outcome="refused|denied"}', 'rate(zin_auth_decisions_total{outcome=~"refused|denied"}[5m])'],
      ['zin_queue_jobs{name}', 'sum by (name) (zin_queue_jobs)'],
      ['zin_queue_jobs{worker}', 'zin_queue_jobs', ['worker']],
      ['the label queue, which is not kept', 'sum by (state) (zin_queue_jobs)', ['queue']],
    ]
    for (const [problem, expr, shown = []] of wrong) assert.deepEqual(unknownNames({ of: 'x', expr, shown }, known), [`x: ${problem}`])
  })

  const promtool = (args: readonly string[], input = '') => spawnSync('promtool', args, { input, encoding: 'utf8', timeout: 60_000 })
  // Only where promtool is installed; parseMetrics makes the same checks everywhere.
  if (promtool(['--version']).error === undefined) {
    it('pass promtool', async () => {
      const { body } = await host.service(metricsService).page()
      const metrics = promtool(['check', 'metrics'], body)
      assert.deepEqual([metrics.status, metrics.stderr.trim()], [0, ''])
    })
  }
})

describe('attempts', () => {
  it('of 10,000 hostile worker names are counted as other', () => {
    const attempts = new AttemptMetrics({ clock: fakeClock(), maxSeries: 100, isOwn: () => true, traceOf: () => undefined })
    const job = { id: '1', name: 'x', queue: 'q', data: {}, attempt: 1, maxAttempts: 1, timestamp: 0 }
    for (let n = 0; n < 10_000; n++)
      attempts.ended({
        worker: `w-${n}"\n`,
        version: `1.0.${n}`,
        node: null,
        job,
        attempt: 1,
        final: true,
        outcome: 'completed',
        runMs: 5,
        waitMs: 1,
      })
    assert.equal(attempts.samples().length, 202)
  })
})
