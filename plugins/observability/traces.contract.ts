import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { Type } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { metricsService, observability, type TraceContext, tracesService } from './index.js'
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from './testing/otlp-receiver.js'
import { parseMetrics } from './testing/parse-metrics.js'

const secret = 'marker-of-a-value'

/** One trace from a request to the call that a job makes, on a store. */
export function tracesContract(store: string, env: () => Readonly<Record<string, string>>): void {
  describe(`traces on ${store}`, () => {
    let receiver: OtlpReceiver
    let host: TestHost
    const outgoing: string[] = []
    const other = createServer((request, response) => {
      outgoing.push(String(request.headers.traceparent))
      // The pool of fetch would outlive the host.
      response.setHeader('connection', 'close').end('ok')
    })
    let finished: () => void
    const done = new Promise<void>((resolve) => {
      finished = resolve
    })

    before(async () => {
      receiver = await otlpReceiver()
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
      host = await createTestHost({
        plugins: [database(), kv(), cluster(), queues(), ops(), workers(), observability({ traceIntervalMs: 50, metricIntervalMs: 200 })],
        env: {
          NODE_ENV: 'test',
          CLUSTER_HEARTBEAT_MS: '500',
          WORKER_OPENTELEMETRY_ENABLED: 'true',
          WORKER_OPENTELEMETRY_ENDPOINT: `${receiver.url}/`,
          METRICS_EXPORT_ENABLED: 'true',
          METRICS_PORT: '0',
          APM_ENABLED: 'true',
          APM_API_KEY: 'key-of-the-apm',
          ...env(),
        },
        routes: [
          {
            method: 'POST',
            path: '/orders/:id',
            summary: 'An order',
            query: Type.Object({ token: Type.String() }),
            handler: async () => {
              const { id } = await host.service(workersService).enqueue('ship', {})
              return { id }
            },
          },
        ],
      })
      const service = host.service(workersService)
      service.register('ship', async () => {
        const db = host.service(databaseService).tables()
        await db
          .selectFrom('zin_migrations')
          .selectAll()
          .where('id', '=', secret)
          .execute()
          .catch(() => undefined)
        host.host.log.info('shipping')
        await host.service(tracesService).fetch(`http://127.0.0.1:${(other.address() as AddressInfo).port}/parcel?key=${secret}`)
        finished()
        return { code: secret }
      })
      await service.create({ name: 'ship', queueName: 'ship' })
      service.register('quiet', async () => {
        await host.service(databaseService).tables().selectFrom('zin_migrations').selectAll().execute()
      })
      await service.create({ name: 'quiet', queueName: 'quiet', features: { observability: false } })
      await service.start('quiet')
      await service.start('ship')
    })
    after(async () => {
      await host.stop()
      other.close()
      await receiver.close()
    })

    it('creates one trace of request, enqueue, job, SQL and outgoing call, and continues that of the caller', async () => {
      const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
      const response = await host.inject({
        method: 'POST',
        path: '/orders/7?token=hidden-token',
        headers: { traceparent: `00-${caller.traceId}-${caller.spanId}-01`, 'x-request-id': 'r' },
        body: {},
      })
      assert.equal(response.status, 200)
      await done
      const mine = (): readonly ReceivedSpan[] => receiver.spans.filter(({ traceId }) => traceId === caller.traceId)
      const find = (kind: number, name: RegExp): ReceivedSpan | undefined =>
        mine().find((span) => span.kind === kind && name.test(span.name))
      const wanted = [
        [2, /^POST \/orders\/:id$/],
        [4, /^add ship/],
        [5, /^process ship/],
        [3, /^SELECT default$/],
        [3, /^GET 127\.0\.0\.1/],
      ] as const
      await eventually('all spans are received', () => wanted.every(([kind, name]) => find(kind, name) !== undefined))
      const [request, add, job, sql, call] = wanted.map(([kind, name]) => find(kind, name))
      assert.deepEqual(
        [request?.parentSpanId, job?.parentSpanId, sql?.parentSpanId, call?.parentSpanId],
        [caller.spanId, add?.spanId, job?.spanId, job?.spanId],
      )
      assert.equal(ancestors(add, mine()).includes(request?.spanId ?? ''), true)
      assert.deepEqual(outgoing, [`00-${caller.traceId}-${call?.spanId}-01`])
      assert.equal(job?.attributes['zin.worker'], 'ship')
      assert.equal(request?.attributes['http.response.status_code'], 200)
      assert.match(String(sql?.attributes['db.query.text']), /^select \* from/)
      assert.equal(receiver.text().includes(secret) || receiver.text().includes('hidden-token'), false)
    })

    it('adds the trace to log lines of code and requests', async () => {
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
      const line = host.logs.find(({ msg }) => msg === 'shipping')
      assert.equal(line?.trace_id, traceId)
      assert.match(String(line?.span_id), /^[0-9a-f]{16}$/)
    })

    it('creates exemplars with the trace', async () => {
      const ofTrace = async () => {
        const { body } = await host.service(metricsService).page('application/openmetrics-text')
        return [...parseMetrics(body, 'openmetrics').values()]
          .filter(({ samples }) => samples.some(({ traceId }) => traceId === '4bf92f3577b34da6a3ce929d0e0e4736'))
          .map(({ name }) => name)
      }
      await eventually('request and attempt have one', async () => {
        const names = await ofTrace()
        return names.includes('zin_http_request_duration_seconds') && names.includes('zin_worker_attempt_duration_seconds')
      })
    })

    it('sends metrics, and the key only in a header of every request', async () => {
      await eventually('metrics are received', () => receiver.metrics.has('zin_worker_attempt_duration_seconds'))
      assert.deepEqual(new Set(receiver.requests.map(({ path }) => path)), new Set(['/v1/traces', '/v1/metrics']))
      assert.ok(receiver.requests.every(({ headers }) => headers['api-key'] === 'key-of-the-apm'))
      assert.equal(host.logText().includes('key-of-the-apm'), false)
      assert.equal(receiver.text().includes('key-of-the-apm'), false)
    })

    it('has no spans of a worker with features.observability: false', async () => {
      const service = host.service(workersService)
      const sent = receiver.requests.length
      const { id } = await service.enqueue('quiet', {})
      await eventually('its job is done', async () => (await service.job('quiet', id)).status === 'completed')
      await host.inject({ method: 'GET', path: '/none' })
      await eventually(
        'later spans are received',
        () => receiver.requests.length > sent + 1 && receiver.spans.some(({ name }) => name === 'GET'),
      )
      assert.deepEqual(
        receiver.spans.filter(({ name }) => name === 'process quiet'),
        [],
      )
      assert.equal(
        receiver.spans.some(({ name }) => name === 'process ship'),
        true,
      )
    })

    it('creates no traces for idle workers', () => {
      const names = receiver.spans.map(({ name }) => name)
      assert.deepEqual(
        names.filter((name) => /getNextJob|extendLocks|moveStalled/.test(name)),
        [],
      )
    })

    it('sends the spans of jobs that end during shutdown', async () => {
      const service = host.service(workersService)
      const began = new Promise<void>((resolve) => {
        service.register('late', async (_job) => {
          resolve()
          await new Promise((later) => setTimeout(later, 300))
        })
      })
      await service.create({ name: 'late', queueName: 'late' })
      await service.start('late')
      await service.enqueue('late', {})
      await began
      await host.stop()
      assert.ok(receiver.spans.some(({ name, attributes }) => name === 'process late' && attributes['zin.worker'] === 'late'))
    })
  })

  describe(`jobs on ${store} that are not recorded`, () => {
    it('still have a trace, which is propagated to the jobs that they add', async (t) => {
      const receiver = await otlpReceiver()
      const host = await createTestHost({
        plugins: [database(), kv(), cluster(), queues(), ops(), workers(), observability({ traceIntervalMs: 20 })],
        env: {
          NODE_ENV: 'test',
          WORKER_OPENTELEMETRY_ENABLED: 'true',
          WORKER_OPENTELEMETRY_ENDPOINT: receiver.url,
          WORKER_OPENTELEMETRY_SAMPLING_RATIO: '0',
          ...env(),
        },
      })
      t.after(async () => {
        await host.stop()
        await receiver.close()
      })
      const [service, traces] = [host.service(workersService), host.service(tracesService)]
      const seen: (TraceContext | undefined)[] = []
      const work = async ({ data }: { readonly data: { readonly more: number } }) => {
        seen.push(traces.current())
        await new Promise(setImmediate)
        assert.deepEqual(traces.current(), seen.at(-1))
        if (data.more > 0) await service.enqueue('unseen', { more: data.more - 1 })
      }
      service.register('unseen', work)
      await service.create({ name: 'unseen', queueName: 'unseen' })
      await service.start('unseen')
      await service.enqueue('unseen', { more: 1 })
      await eventually('the added job has run', () => seen.length === 2)
      await service.enqueue('unseen', { more: 0 })
      await eventually('another one has run', () => seen.length === 3)
      const [first, second, other] = seen
      assert.deepEqual(
        seen.map((one) => one?.sampled),
        [false, false, false],
      )
      assert.equal(second?.traceId, first?.traceId)
      assert.notEqual(second?.spanId, first?.spanId)
      assert.notEqual(other?.traceId, first?.traceId)
      const inTrace = await traces.span('kept', () => service.enqueue('unseen', { more: 0 }))
      await eventually('it has run', async () => (await service.job('unseen', inTrace.id)).status === 'completed')
      await host.stop()
      assert.deepEqual(receiver.spans, [])
    })
  })
}

function ancestors(span: ReceivedSpan | undefined, all: readonly ReceivedSpan[]): readonly string[] {
  const parent = all.find(({ spanId }) => spanId === span?.parentSpanId)
  return parent === undefined ? [] : [parent.spanId, ...ancestors(parent, all)]
}
