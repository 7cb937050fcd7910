import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../app-process.js'
import { startServices } from '../services.js'
import { compare, getMe, type Server, startServer, stopServer } from './auth.js'
import { bundle } from './bundle.js'
import { type BenchRow, formatRows } from './row.js'
import { compareWorkers } from './workers.js'

/** Nothing listens there. */
const deadEndpoint = 'http://127.0.0.1:9'
const receiverCode = `const server = require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'))
}).listen(0, '127.0.0.1', () => console.log(server.address().port))`

/**
 * What metrics and traces cost: signed `GET /api/me` with metrics, and with traces, against the same app without the plugin; all traces to
 * an endpoint that refuses against one that takes them; and a managed worker with both against a bare BullMQ worker.
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
        jobs: 8000,
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
  const folder = temporaryFolder()
  const file = await bundle('auth-server')
  const servers: Server[] = []
  const start = async (kind: string, to: string, name = kind): Promise<Server> => {
    const server = await startServer(file, kind, `${folder.path}/${name}`, to)
    servers.push(server)
    return server
  }
  const row = (name: string, ratio: number, budget?: number): BenchRow =>
    budget === undefined
      ? { name, value: ratio, unit: 'x' }
      : { name, value: ratio, unit: 'x', budget: `>= ${budget.toFixed(2)}`, pass: ratio >= budget }
  try {
    const without = await start('memory', '')
    const metrics = await compare(without, await start('metrics', ''), getMe)
    const some = await compare(without, await start('traces-some', deadEndpoint), getMe)
    const all = await start('traces-all', endpoint, 'all')
    const traced = await compare(without, all, getMe)
    const dead = await compare(all, await start('traces-all', deadEndpoint, 'dead'), getMe)
    return [
      { name: 'GET /api/me without the plugin observability', value: Math.round(metrics.baseline), unit: 'req/s' },
      row('GET /api/me with metrics', metrics.ratio, 0.97),
      row('GET /api/me with metrics and 1 % of the traces, endpoint dead', some.ratio),
      row('GET /api/me with metrics and all traces', traced.ratio),
      row('GET /api/me with all traces, endpoint dead against one that responds', dead.ratio, 0.95),
    ]
  } finally {
    await Promise.all(servers.map(stopServer))
    folder.remove()
  }
}

/** In a process of its own, as a collector is. */
async function startReceiver(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, ['-e', receiverCode], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, url: `http://127.0.0.1:${port.toString().trim()}` }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(formatRows(await benchObservability()))
