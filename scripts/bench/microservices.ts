import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { decisions } from 'zin/plugins/decisions'
import { microservices, microservicesService } from 'zin/plugins/microservices'
import { ops } from 'zin/plugins/ops'
import { inTurn, median, medianRatio } from './rounds.js'
import { type BenchRow, below } from './row.js'

const rounds = 10
const msPerRound = 1000
const callers = 32
const discovered = 200

const server = `
const body = JSON.stringify({ id: 7, name: 'Ada', email: 'ada@example.com' })
const server = require('node:http').createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

/**
 * Measures calls of a service with the defaults, including a token and a trace, against a bare keep-alive fetch: 32 callers, in alternating
 * rounds on the same service. Also measures the time to discover 200 services.
 */
export async function benchMicroservices(): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-bench-services-'))
  const child = spawn(process.execPath, ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const url = `http://127.0.0.1:${await portOf(child)}`
    return [...(await benchCalls(url, folder)), await benchDiscovery(folder)]
  } finally {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

async function benchCalls(url: string, dataDir: string): Promise<BenchRow[]> {
  const env = {
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    ZIN_DATA_DIR: dataDir,
    SERVICE_JWT_SECRET: 'x'.repeat(32),
    MICROSERVICES_TRACING: 'true',
  }
  const plugins = [cluster(), ops(), decisions(), microservices({ services: { users: { url, auth: 'jwt' } } })]
  const app = createApp({ app: { port: 0 }, plugins }, { env })
  await app.start()
  try {
    const services = app.service(microservicesService)
    const bare = async (): Promise<unknown> => (await fetch(`${url}/users/7`)).json()
    const called = async (): Promise<unknown> =>
      (await services.callService('users', { path: '/users/7', headers: services.injectHeaders() })).data
    await perSecond(bare)
    await perSecond(called)
    const compared = await inTurn(
      rounds,
      () => perSecond(bare),
      () => perSecond(called),
    )
    const ratio = medianRatio(compared)
    return [
      {
        name: 'callService with a token and a trace',
        value: Math.round(median(compared.map(({ measured }) => measured))),
        unit: 'calls/s',
      },
      { name: 'callService against a bare keep-alive fetch', value: ratio, unit: 'x', budget: '>= 0.80', pass: ratio >= 0.8 },
    ]
  } finally {
    await app.stop()
  }
}

async function perSecond(call: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  let calls = 0
  const caller = async (): Promise<void> => {
    for (; performance.now() - began < msPerRound; calls++) await call()
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return calls / ((performance.now() - began) / 1000)
}

/** The boot time of an app that discovers the services and starts none, minus that of an app without services. */
async function benchDiscovery(folder: string): Promise<BenchRow> {
  for (let index = 0; index < discovered; index++) {
    const place = join(folder, 'src/services', `domain-${index % 10}`, `service-${index}`)
    await mkdir(place, { recursive: true })
    await writeFile(join(place, 'service.config.json'), JSON.stringify({ name: `service-${index}`, version: '1.0.0' }))
  }
  const boot = async (enabled: boolean): Promise<number> => {
    const env = { NODE_ENV: 'test', LOG_LEVEL: 'silent', ZIN_DATA_DIR: join(folder, 'data'), MICROSERVICES: String(enabled) }
    const app = createApp({ app: { port: 0 }, plugins: [cluster(), ops(), microservices({ autoStart: false })] }, { env, rootDir: folder })
    const began = performance.now()
    await app.start()
    const ms = performance.now() - began
    await app.stop()
    return ms
  }
  const without = await boot(false)
  return below(`discovery of ${discovered} services`, (await boot(true)) - without, 'ms', 1000)
}

async function portOf(child: ChildProcess): Promise<number> {
  const [chunk] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  return Number(chunk.toString())
}
