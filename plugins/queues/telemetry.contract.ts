import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
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

    it('runs work without a span in the context that leaveOut returns', async () => {
      const spans: string[] = []
      const contexts = new AsyncLocalStorage<unknown>()
      const asked: (string | undefined)[] = []
      const handedOn: string[] = []
      const base = tracing(spans)
      const withdraw = queues.setTelemetry({
        ...base,
        contextManager: {
          ...base.contextManager,
          with: (context, run) => contexts.run(context, run),
          getMetadata: () => {
            handedOn.push(`from ${spans.at(-1)}`)
            return `${handedOn.at(-1)}`
          },
        },
        leaveOut(_kind, operation, metadata) {
          if (operation === 'process') asked.push(metadata)
          return operation === 'process' && asked.length > 2 ? undefined : `left out ${operation}`
        },
      })
      const queue = fresh()
      const seen: unknown[] = []
      const worker: Worker = queues.worker(queue, async ({ attemptsMade, name }) => {
        await setImmediate()
        seen.push(contexts.getStore())
        if (name === 'twice' && attemptsMade === 0) throw new Error('again')
      })
      const completed = async (name: string, attempts: number): Promise<void> => {
        const done = once(worker, 'completed')
        await queues.add(queue, name, {}, { attempts })
        await done
      }
      await completed('twice', 2)
      const ofTwice = spans.filter((name) => /^(process|complete|retry) /.test(name))
      await completed('recorded', 1)
      await worker.close()
      withdraw()
      assert.deepEqual(seen.slice(0, 2), ['left out process', 'left out process'])
      assert.equal(asked[0], `from add ${queue}.twice`)
      // A retry has a span, whose metadata are those of the next attempt.
      assert.deepEqual(ofTwice, [`retry ${queue}`])
      assert.ok(handedOn.includes(`from retry ${queue}`), handedOn.join())
      assert.ok(spans.includes(`process ${queue}`), spans.join())
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
