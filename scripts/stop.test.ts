import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { autoscale } from 'zin/plugins/autoscale'
import { breaker } from 'zin/plugins/breaker'
import { bulletproof } from 'zin/plugins/bulletproof'
import { canary } from 'zin/plugins/canary'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { webConsole } from 'zin/plugins/console'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { health } from 'zin/plugins/health'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login } from 'zin/plugins/login'
import { observability } from 'zin/plugins/observability'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { resources } from 'zin/plugins/resources'
import { workerHealth } from 'zin/plugins/worker-health'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { type Document, type FuzzRequest, type Known, routesOf } from './fuzz/requests.js'
import fc from './testing/properties.js'

/** Each handles a third of the routes. Other requests by hand: STOP_SEED=7 npm test -- scripts/stop */
const rounds = 3
const known: Known = { names: ['one', 'two'], versions: ['1.0.0'], ids: ['1'] }

async function start(): Promise<TestHost> {
  const host = await createTestHost({
    plugins: [
      ...[database(), kv(), cluster(), queues(), health(), jwt(), bulletproof(), login(), ops(), decisions(), workers(), workerHealth()],
      ...[canary(), resources(), autoscale(), breaker(), queueMonitor(), compliance(), observability(), webConsole()],
    ],
    env: { WORKER_AUTO_START: 'true', APP_KEY: 'a-key-of-the-stop-test-with-32-bytes' },
  })
  const service = host.service(workersService)
  for (const name of known.names) await service.create({ name, queueName: name, processor: () => 1 })
  return host
}

/** Resolves to the status; 0 if the connection was closed before the request was read. */
async function send(host: TestHost, { method, target, headers, body }: FuzzRequest): Promise<number> {
  const request = { method, path: target, headers, ...(body !== undefined && { body }) }
  return host.inject(request).then(
    ({ status }) => status,
    () => 0,
  )
}

describe('an app that stops while it handles requests for every route', () => {
  const seed = Number(process.env.STOP_SEED ?? 20_261_127)
  for (let round = 0; round < rounds; round++) {
    it(`stops cleanly and leaves nothing open: round ${round + 1}`, async () => {
      const host = await start()
      const document = (await host.inject({ path: '/openapi.json' })).body as Document
      const routes = routesOf(document, known).filter((_route, index) => index % rounds === round)
      const sent: Promise<readonly [title: string, status: number]>[] = []
      for (const [index, { title, requests }] of routes.entries()) {
        for (const request of fc.sample(requests, { numRuns: 2, seed: seed + round + index })) {
          sent.push(send(host, request).then((status) => [title, status]))
          await setImmediate()
        }
      }
      await host.stop()
      const answers = await Promise.all(sent)
      assert.deepEqual(
        answers.filter(([, status]) => status >= 500 && status !== 503),
        [],
      )
    })
  }
})
