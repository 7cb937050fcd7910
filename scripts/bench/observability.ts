import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startServices } from '../services.js'
import { compare, getMe, inGenerations } from './auth.js'
import { median, medianRatio, type Round } from './rounds.js'
import { type BenchRow, formatRows } from './row.js'
import { compareWorkers } from './workers.js'

/** Nothing listens there. */
const deadEndpoint = 'http://127.0.0.1:9'
const receiverCode = `const server = require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'))
}).listen(0, '127.0.0.1', () => console.log(server.address().port))`

/**
 * Measures what metrics and traces cost: signed `GET /api/me` with metrics, and with traces, against the same app without the plugin; all
 * traces with a dead endpoint against a live one; and a managed worker with both against a bare BullMQ worker.
 */
export async function benchObservability(): Promise<BenchRow[]> {
  const services = await startServices()
  const receiver = await startReceiver()
  try {
    return [
      ...(await benchRequests(receiver.url)),
      ...(await compareWorkers({
        store: 'Redis',
        args: [services.redisUrl, receiver.url],
        jobs: 20_000,
        kinds: ['observed', 'bare'],
        concurrencies: [10],
        budget: 0.93,
      })),
    ]
  } finally {
    receiver.child.kill()
    await services.stop()
  }
}

async function benchRequests(endpoint: string): Promise<BenchRow[]> {
  const metrics: Round[] = []
  const some: Round[] = []
  const traced: Round[] = []
  const dead: Round[] = []
  await inGenerations(async (start) => {
    const without = await start('memory')
    const all = await start('traces-all', endpoint)
    metrics.push(...(await compare(without, await start('metrics'), getMe)))
    some.push(...(await compare(without, await start('traces-some', deadEndpoint), getMe)))
    traced.push(...(await compare(without, all, getMe)))
    dead.push(...(await compare(all, await start('traces-all', deadEndpoint), getMe)))
  })
  const row = (name: string, rounds: readonly Round[], budget?: number): BenchRow => {
    const value = medianRatio(rounds)
    return budget === undefined
      ? { name, value, unit: 'x' }
      : { name, value, unit: 'x', budget: `>= ${budget.toFixed(2)}`, pass: value >= budget }
  }
  const without = Math.round(median(metrics.map(({ baseline }) => baseline)))
  return [
    { name: 'GET /api/me without the plugin observability', value: without, unit: 'req/s' },
    row('GET /api/me with metrics', metrics, 0.97),
    row('GET /api/me with metrics and 1 % of the traces, endpoint dead', some),
    row('GET /api/me with metrics and all traces', traced),
    row('GET /api/me with all traces, endpoint dead against one that responds', dead, 0.95),
  ]
}

/** Starts a receiver in a separate process, like a real collector. */
async function startReceiver(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, ['-e', receiverCode], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, url: `http://127.0.0.1:${port.toString().trim()}` }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(formatRows(await benchObservability()))
