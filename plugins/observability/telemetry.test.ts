import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace-base'
import { definePlugin, type Plugin } from 'zin'
import { microservices, microservicesService } from 'zin/plugins/microservices'
import { ops } from 'zin/plugins/ops'
import { createTestHost, fakeClock, memoryLogger, type TestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { observability, tracesService } from './index.js'
import { otlpReceiver } from './testing/otlp-receiver.js'
import { HeadSampling } from './traces/head-sampling.js'
import { ExportFailures } from './traces/quiet-exporter.js'
import { operationOf, sqlText } from './traces/sql-text.js'
import { otlpTarget, sendsKeyUnencrypted } from './traces/target.js'

const settings = {
  WORKER_OPENTELEMETRY_ENABLED: true,
  WORKER_OPENTELEMETRY_ENDPOINT: 'http://127.0.0.1:4318',
  APM_ENABLED: false,
  APM_API_KEY: '',
  APM_API_KEY_HEADER: 'api-key',
}

async function traced(t: TestContext, env: Readonly<Record<string, string>> = {}, ...more: readonly Plugin[]) {
  const later = cleanUp(t)
  const receiver = await otlpReceiver()
  later(() => receiver.close())
  const host = await createTestHost({
    plugins: [ops(), observability({ traceIntervalMs: 20, metricIntervalMs: 60_000 }), ...more],
    env: {
      NODE_ENV: 'test',
      WORKER_OPENTELEMETRY_ENABLED: 'true',
      WORKER_OPENTELEMETRY_ENDPOINT: receiver.url,
      ...env,
    },
    routes: [
      { method: 'GET', path: '/trace', summary: 'The trace', handler: () => ({ ...host.service(tracesService).current() }) },
      {
        method: 'GET',
        path: '/headers',
        summary: 'Headers of a call',
        handler: () => host.service(microservicesService).injectHeaders({ a: 'b' }),
      },
    ],
  })
  later(() => host.stop())
  return { host, receiver }
}

describe('the settings of OpenTelemetry', () => {
  it('send nothing by default, and the key of the APM only while it is enabled', () => {
    assert.equal(otlpTarget({ ...settings, WORKER_OPENTELEMETRY_ENABLED: false }), undefined)
    assert.deepEqual(otlpTarget({ ...settings, APM_API_KEY: 'k' })?.headers, {})
    assert.deepEqual(otlpTarget({ ...settings, APM_ENABLED: true, APM_API_KEY: 'k', WORKER_OPENTELEMETRY_ENABLED: false })?.headers, {
      'api-key': 'k',
    })
    assert.deepEqual(otlpTarget({ ...settings, APM_ENABLED: true, APM_API_KEY: 'k', APM_API_KEY_HEADER: 'Authorization' })?.headers, {
      authorization: 'Bearer k',
    })
  })

  const wrong: Readonly<Record<string, readonly [change: object, problem: RegExp]>> = {
    'an endpoint that is no URL': [{ WORKER_OPENTELEMETRY_ENDPOINT: 'collector' }, /ENDPOINT is not a URL/],
    'another protocol': [{ WORKER_OPENTELEMETRY_ENDPOINT: 'grpc://c:4317' }, /neither http: nor https:/],
    'the path of one signal': [
      { WORKER_OPENTELEMETRY_ENDPOINT: 'http://c:4318/v1/traces/' },
      /ends in \/v1\/traces\/, which is appended automatically/,
    ],
    'a password in the URL': [{ WORKER_OPENTELEMETRY_ENDPOINT: 'http://u:geheim@c' }, /contains a user name or password/],
    'an APM without a key': [{ APM_ENABLED: true }, /APM_API_KEY is not set/],
    'a key with a line break': [{ APM_ENABLED: true, APM_API_KEY: 'geheim\nx' }, /characters that are not allowed in a header/],
  }
  for (const [what, [change, problem]] of Object.entries(wrong)) {
    it(`refuse ${what}, without repeating a secret`, () =>
      assert.throws(
        () => otlpTarget({ ...settings, ...change }),
        (error: Error) => problem.test(error.message) && !error.message.includes('geheim'),
      ))
  }

  it('detect when the APM key would be sent unencrypted over a network', () => {
    const over = (endpoint: string, key = 'k') => sendsKeyUnencrypted({ endpoint, headers: key === '' ? {} : { 'api-key': key } })
    assert.deepEqual(
      ['http://otlp.example.com', 'http://10.0.0.7:4318'].map((endpoint) => over(endpoint)),
      [true, true],
    )
    assert.deepEqual(
      ['https://otlp.example.com', 'http://127.0.0.1:4318', 'http://[::1]:4318', 'http://localhost:4318'].map((endpoint) => over(endpoint)),
      [false, false, false, false],
    )
    assert.equal(over('http://otlp.example.com', ''), false)
  })

  it('warn at startup when the key is sent unencrypted', async (t) => {
    const { host } = await traced(t, { APM_ENABLED: 'true', APM_API_KEY: 'geheim', WORKER_OPENTELEMETRY_ENDPOINT: 'http://otlp.invalid' })
    assert.match(host.logText(), /APM_API_KEY is sent unencrypted/)
    assert.doesNotMatch(host.logText(), /geheim/)
  })

  it('are listed with those of metrics, and without the key', async (t) => {
    const { host } = await traced(t, { APM_ENABLED: 'true', APM_API_KEY: 'geheim' })
    const rows = host.host.view.settings().filter(({ readers }) => readers.includes('observability'))
    assert.deepEqual(rows.map(({ name }) => name).filter((name) => /^(METRICS|WORKER_OPENTELEMETRY|APM)_/.test(name)).length, 9)
    assert.equal(JSON.stringify(rows).includes('geheim'), false)
  })

  it('prevent the start and name the problem', async () => {
    const plugins = [ops(), observability()]
    await assert.rejects(createTestHost({ plugins, env: { NODE_ENV: 'test', APM_ENABLED: 'true' } }), /APM_API_KEY is not set/)
  })

  it('sample none of the traces that begin here at 0, and keep the decision of a caller', async (t) => {
    const { host, receiver } = await traced(t, { WORKER_OPENTELEMETRY_SAMPLING_RATIO: '0' })
    const own = await host.inject({ method: 'GET', path: '/trace' })
    assert.equal((own.body as { sampled: boolean }).sampled, false)
    const traceId = 'a'.repeat(32)
    const theirs = await host.inject({ method: 'GET', path: '/trace', headers: { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` } })
    assert.deepEqual([(theirs.body as { traceId: string }).traceId, (theirs.body as { sampled: boolean }).sampled], [traceId, true])
    await eventually('the span is received', () => receiver.spans.length > 0)
    assert.deepEqual(new Set(receiver.spans.map((span) => span.traceId)), new Set([traceId]))
  })

  for (const traceparent of ['garbage', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`]) {
    it(`begin a new trace for the traceparent ${traceparent.slice(0, 12)}`, async (t) => {
      const { host } = await traced(t)
      const { body } = await host.inject({ method: 'GET', path: '/trace', headers: { traceparent } })
      const { sampled, traceId } = body as { readonly sampled: boolean; readonly traceId: string }
      assert.ok(sampled && /^(?!0+$)[0-9a-f]{32}$/.test(traceId) && traceId !== 'a'.repeat(32))
    })
  }
})

describe('a request that is not recorded', () => {
  const unrecorded = { WORKER_OPENTELEMETRY_SAMPLING_RATIO: '0' }
  const caller = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  const traceparent = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-00$/

  /** A route that returns the headers of its calls: before and after waiting, and within a new span. */
  const calling: Plugin = definePlugin({
    name: 'calling',
    version: '1.0.0',
    uses: { traces: tracesService },
    setup: ({ route, services: { traces } }) =>
      route({
        method: 'GET',
        path: '/calls',
        summary: 'What calls carry',
        handler: async () => {
          const first = traces.headers()
          await new Promise(setImmediate)
          return [first, traces.headers(), await traces.span('work', () => traces.headers())]
        },
      }),
  })()

  async function callsOf(host: TestHost, headers: Readonly<Record<string, string>> = {}) {
    const { body } = await host.inject({ method: 'GET', path: '/calls', headers })
    return (body as readonly Readonly<Record<string, string>>[]).map(({ traceparent: text = '', tracestate }) => {
      const [, traceId, spanId] = traceparent.exec(text) ?? []
      return { traceId, spanId, tracestate }
    })
  }

  it('still has a trace, which its calls continue', async (t) => {
    const { host, receiver } = await traced(t, unrecorded, calling)
    const [first, second, inSpan] = await callsOf(host)
    assert.ok(first?.traceId)
    assert.deepEqual(second, first)
    assert.equal(inSpan?.traceId, first.traceId)
    const [other] = await callsOf(host)
    assert.notEqual(other?.traceId, first.traceId)
    await host.inject({ method: 'GET', path: '/trace', headers: { traceparent: `00-${caller.traceId}-${caller.spanId}-01` } })
    await eventually('a later span is received', () => receiver.spans.length > 0)
    assert.deepEqual(new Set(receiver.spans.map(({ traceId }) => traceId)), new Set([caller.traceId]))
  })

  it('continues the trace of its caller', async (t) => {
    const { host } = await traced(t, {}, calling)
    const given = { traceparent: `00-${caller.traceId}-${caller.spanId}-00`, tracestate: 'vendor=1' }
    for (const { traceId, spanId, tracestate } of await callsOf(host, given)) {
      assert.deepEqual([traceId, tracestate], [caller.traceId, 'vendor=1'])
      assert.notEqual(spanId, caller.spanId)
    }
  })

  it('has its own trace when it is sent by code within another one', async (t) => {
    const { host } = await traced(t, unrecorded, calling)
    const traces = host.service(tracesService)
    const outer = await traces.span('outer', async () => ({ own: traces.current()?.traceId, calls: await callsOf(host) }))
    assert.ok(outer.own !== undefined)
    assert.equal(new Set(outer.calls.map(({ traceId }) => traceId)).size, 1)
    assert.notEqual(outer.calls[0]?.traceId, outer.own)
  })
})

describe('the share of traces that are recorded', () => {
  it('is decided from their ids, and every sampler decides the same for an id', () => {
    const sampling = new HeadSampling(0.25)
    let recorded = 0
    for (let drawn = 0; drawn < 4000; drawn++) {
      const left = sampling.leaveOut(ROOT_CONTEXT)
      if (left === undefined) recorded++
      const id = left === undefined ? sampling.generateTraceId() : trace.getSpanContext(left.context)?.traceId
      const { decision } = sampling.shouldSample(ROOT_CONTEXT, id ?? '')
      assert.equal(decision === SamplingDecision.RECORD_AND_SAMPLED, left === undefined)
    }
    assert.ok(recorded > 800 && recorded < 1200, `${recorded} of 4000`)
  })

  it('applies to later ids as well', () => {
    const [all, none] = [new HeadSampling(1), new HeadSampling(0)]
    for (const id of ['0'.repeat(31) + 1, 'f'.repeat(32), all.generateTraceId()]) {
      assert.equal(all.shouldSample(ROOT_CONTEXT, id).decision, SamplingDecision.RECORD_AND_SAMPLED)
      assert.equal(none.shouldSample(ROOT_CONTEXT, id).decision, SamplingDecision.NOT_RECORD)
    }
  })
})

describe('traces and the plugin microservices', () => {
  it('share one trace: its headers continue the recorded span', async (t) => {
    const { host, receiver } = await traced(t, { MICROSERVICES_TRACING: 'true' }, microservices())
    const { body } = await host.inject({ method: 'GET', path: '/headers', headers: { 'x-trace-id': 'order-7' } })
    const headers = body as Readonly<Record<string, string>>
    await eventually('the span is received', () => receiver.spans.length > 0)
    const [span] = receiver.spans
    assert.deepEqual(headers, { a: 'b', traceparent: `00-${span?.traceId}-${span?.spanId}-01`, 'x-trace-id': 'order-7' })
  })
})

describe('an endpoint that fails', () => {
  it('by refusing connections is logged once, and the app keeps running and stops', async (t) => {
    const gone = await otlpReceiver()
    await gone.close()
    const { host } = await traced(t, { WORKER_OPENTELEMETRY_ENDPOINT: gone.url })
    const warnings = () => host.logs.filter(({ msg }) => String(msg).startsWith('traces could not be sent'))
    await eventually('a warning', async () => {
      assert.equal((await host.inject({ method: 'GET', path: '/trace' })).status, 200)
      return warnings().length > 0
    })
    for (let n = 0; n < 20; n++) await host.inject({ method: 'GET', path: '/trace' })
    assert.equal(warnings().length, 1)
  })

  it('is logged once a minute, with the number of failures', () => {
    const clock = fakeClock()
    const log = memoryLogger()
    const failures = new ExportFailures({ clock, log, what: 'traces', endpoint: 'http://c' })
    const results: number[] = []
    const fail = failures.noting(({ code }) => results.push(code))
    for (let n = 0; n < 10; n++) fail({ code: 1, error: new Error('refused') })
    clock.advance(60_000)
    fail({ code: 1, error: new Error('refused') })
    fail({ code: 0 })
    assert.deepEqual(
      log.lines.map(({ failed, msg }) => [failed, msg]),
      [
        [1, 'traces could not be sent to http://c and were dropped: refused'],
        [10, 'traces could not be sent to http://c and were dropped: refused'],
        [undefined, 'traces are being sent again'],
      ],
    )
    assert.equal(
      results.every((code) => code === 0),
      true,
    )
  })

  it('by hanging does not delay the shutdown beyond its deadline', async (t) => {
    const later = cleanUp(t)
    const hanging = await otlpReceiver(false)
    later(() => hanging.close())
    const host = await createTestHost({
      plugins: [ops(), observability()],
      shutdown: { deadlineMs: 2_000 },
      env: { NODE_ENV: 'test', WORKER_OPENTELEMETRY_ENABLED: 'true', WORKER_OPENTELEMETRY_ENDPOINT: hanging.url },
      routes: [{ method: 'GET', path: '/x', summary: 'X', handler: () => ({}) }],
    })
    await host.inject({ method: 'GET', path: '/x' })
    const report = await host.stop()
    assert.deepEqual(
      report.plugins.filter(({ outcome }) => outcome === 'failed' || outcome === 'hung'),
      [],
    )
    assert.ok(host.logText().includes('could not be sent'))
  })
})

describe('SQL in spans', () => {
  it('has no literals', () => {
    assert.equal(
      sqlText(`select "a1", t2.x from t2 where name = 'O''Hara' and n > 42.5 and h = 0xdeadbeef and id = ?`, 'sqlite'),
      'select "a1", t2.x from t2 where name = ? and n > ? and h = ? and id = ?',
    )
    assert.equal(sqlText("select 'never ends", 'sqlite'), 'select ?')
    // Double quotes are strings in MySQL and identifiers in SQLite, and SQLite has no backslash escapes.
    assert.equal(
      sqlText('select `n` from t where name = "O\\"Hara" and b = \'it\\\'s\'', 'mysql'),
      'select `n` from t where name = ? and b = ?',
    )
    assert.equal(sqlText("select '\\' or name = 'Ada'", 'sqlite'), 'select ? or name = ?')
    assert.ok(sqlText('x'.repeat(10_000), 'mysql').length === 2000)
    assert.deepEqual([operationOf(' insert into x'), operationOf('(select 1)')], ['INSERT', 'QUERY'])
  })
})
