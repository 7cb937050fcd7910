import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Telemetry, Worker } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { type Queues, queuesService } from './index.js'

/** What an object for telemetry hears of, on both stores. */
export function telemetryContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`the telemetry of queues on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `q${++number}`

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

    it('traces added and processed jobs with one telemetry at a time', async () => {
      const spans: string[] = []
      const telemetry = tracing(spans)
      const withdraw = queues.setTelemetry(telemetry)
      assert.throws(() => queues.setTelemetry(telemetry), { code: 'QUEUE_TELEMETRY_SET', status: 409 })
      const queue = fresh()
      const worker: Worker = queues.worker(queue, async () => 1)
      const done = once(worker, 'completed')
      await queues.add(queue, 'traced', {})
      await done
      await worker.close()
      withdraw()
      assert.ok(spans.includes(`add ${queue}.traced`) && spans.includes(`process ${queue}`), spans.join())
      queues.setTelemetry(telemetry)()
    })
  })
}

/** Records the names of spans. */
function tracing(spans: string[]): Telemetry {
  const span = {
    setSpanOnContext: (context: unknown) => context,
    setAttribute() {},
    setAttributes() {},
    addEvent() {},
    recordException() {},
    end() {},
  }
  return {
    tracer: { startSpan: (name: string) => (spans.push(name), span) },
    contextManager: {
      with: (_context: unknown, run: () => unknown) => run(),
      active: () => ({}),
      getMetadata: () => '',
      fromMetadata: () => ({}),
    },
  } as unknown as Telemetry
}
