import { type ChildProcess, fork } from 'node:child_process'
import { createHash, createHmac, createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../app-process.js'
import { startServices } from '../services.js'
import { bundle } from './bundle.js'
import { inTurn, median, medianRatio, type Round } from './rounds.js'
import { type BenchRow, formatRows } from './row.js'

// Many short rounds: the speed of a shared machine drifts within seconds, so the two sides of a ratio must be measured close together.
const rounds = 11
const secondsPerRound = 0.4
/** Two processes of the same code differ by a few percent for as long as they live, so each generation starts new ones. */
const generations = 3
const connections = 32
/** More requests than any of the servers can handle in a second. */
const requestsPerSecond = 40_000

/**
 * Measures signed requests per second through `auth` and `bulletproof`, against bare Koa with the same checks inline. The servers run in
 * separate processes and are loaded in alternating rounds; the median ratio counts. Every request is signed before its round starts, with a
 * unique nonce and a timestamp behind the servers' clock.
 *
 * Bare Koa verifies the token of each request with jsonwebtoken. The plugin jwt does so only for a token that it has not cached; for a cached
 * one it checks only times and revocation. One comparison therefore sends an uncached token with each request.
 */
export async function benchAuth(): Promise<BenchRow[]> {
  const services = await startServices()
  const me: Round[] = []
  const fresh: Round[] = []
  const post: Round[] = []
  const onRedis: Round[] = []
  try {
    await inGenerations(async (start, generation) => {
      const bare = await start('bare')
      const memory = await start('memory')
      const redis = await start('redis', `${services.redisUrl}/${generation}`)
      me.push(...(await compare(bare, memory, getMe)))
      fresh.push(...(await compare(bare, memory, getMeFresh)))
      post.push(...(await compare(bare, memory, postNote)))
      onRedis.push(...(await compare(bare, redis, getMe)))
    })
  } finally {
    await services.stop()
  }
  const perSecond = (values: readonly number[]): number => Math.round(median(values))
  const measured = (round: readonly Round[]): number => perSecond(round.map((one) => one.measured))
  const ratio = medianRatio(me)
  return [
    { name: 'bare Koa, checks of a signed GET inline', value: perSecond(me.map(({ baseline }) => baseline)), unit: 'req/s' },
    { name: 'GET /api/me, stores in memory', value: measured(me), unit: 'req/s' },
    { name: 'GET /api/me against bare Koa with the checks', value: ratio, unit: 'x', budget: '>= 0.90', pass: ratio >= 0.9 },
    { name: 'GET /api/me, each token new, against bare Koa', value: medianRatio(fresh), unit: 'x' },
    { name: 'signed POST of 1 KiB, stores in memory', value: measured(post), unit: 'req/s' },
    { name: 'signed POST of 1 KiB against bare Koa with the checks', value: medianRatio(post), unit: 'x' },
    { name: 'GET /api/me, stores on Redis', value: measured(onRedis), unit: 'req/s' },
    { name: 'GET /api/me on Redis against bare Koa in memory', value: medianRatio(onRedis), unit: 'x' },
  ]
}

/** Starts a server of auth-server.ts by kind, with the URL that the kind needs. */
type Start = (kind: string, url?: string) => Promise<Server>

/** Runs a comparison several times, each time with new servers. */
export async function inGenerations(compareAll: (start: Start, generation: number) => Promise<void>): Promise<void> {
  const file = await bundle('auth-server')
  for (let generation = 0; generation < generations; generation++) {
    const folder = temporaryFolder()
    const servers: Server[] = []
    try {
      await compareAll(async (kind, url = '') => {
        const server = await startServer(file, [kind, join(folder.path, String(servers.length)), url])
        servers.push(server)
        return server
      }, generation)
    } finally {
      await Promise.all(servers.map(stopServer))
      folder.remove()
    }
  }
}

/** A server of auth-server.ts under load. */
export interface Server {
  readonly child: ChildProcess
  readonly port: number
  /** More than the plugin jwt caches. */
  readonly tokens: readonly string[]
  readonly deviceId: string
  readonly secret: string
  /** How many requests were sent with rotating tokens. */
  turn: number
}

export interface Shape {
  readonly method: string
  readonly path: string
  readonly body: string
  /** Whether requests rotate through the tokens, so that none is repeated while it is cached. */
  readonly inTurn?: boolean
}

export const getMe: Shape = { method: 'GET', path: '/api/me', body: '' }
const getMeFresh: Shape = { ...getMe, inTurn: true }
const postNote: Shape = { method: 'POST', path: '/api/notes', body: JSON.stringify({ text: 'x'.repeat(1024 - 11) }) }

/** Loads two servers in alternating rounds. */
export async function compare(baseline: Server, measured: Server, shape: Shape): Promise<readonly Round[]> {
  await load(baseline, shape, 3)
  await load(measured, shape, 3)
  return inTurn(
    rounds,
    () => load(baseline, shape, secondsPerRound),
    () => load(measured, shape, secondsPerRound),
  )
}

/** Measures requests per second over keep-alive connections, each with one request in flight. Throws if a response is not 200. */
async function load(server: Server, shape: Shape, seconds: number): Promise<number> {
  const requests = sign(server, shape, requestsPerSecond * seconds)
  let sent = 0
  let answered = 0
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1000
  await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<void>((done, fail) => {
          const socket = connect(server.port, '127.0.0.1').setNoDelay()
          const next = (): void => {
            if (performance.now() >= endsAt) {
              socket.destroy()
              done()
            } else if (sent === requests.length) fail(new Error('bench: the server is faster than there are signed requests'))
            else socket.write(requests[sent++] as Buffer)
          }
          onAnswers(
            socket,
            () => {
              answered++
              next()
            },
            fail,
          )
          socket.on('connect', next)
        }),
    ),
  )
  if (shape.inTurn) server.turn += sent
  return answered / ((performance.now() - startedAt) / 1000)
}

/** Calls back for each complete response; both servers send a Content-Length. */
function onAnswers(socket: Socket, answered: () => void, fail: (error: Error) => void): void {
  let text = ''
  socket.on('error', fail)
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    const head = text.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
    if (text.length < head + 4 + length) return
    if (!text.startsWith('HTTP/1.1 200 ')) return fail(new Error(`bench: a request was not accepted:\n${text}`))
    text = ''
    answered()
  })
}

function sign({ port, tokens, turn, deviceId, secret }: Server, { method, path, body, inTurn }: Shape, count: number): readonly Buffer[] {
  const key = createSecretKey(Buffer.from(secret))
  const bodySha256 = createHash('sha256').update(body).digest('hex')
  const start = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-sig-key-id: ${deviceId}\r\nx-sig-device-id: ${deviceId}\r\nx-sig-body-sha256: ${bodySha256}\r\n`
  const content = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
  const run = process.hrtime.bigint().toString(36)
  const timestamp = Date.now()
  return Array.from({ length: count }, (_, index) => {
    const nonce = `bench-${run}-${index}`
    const canonical = `${method}\n${path}\n\n${timestamp}\n${nonce}\n${bodySha256}`
    const signature = createHmac('sha256', key).update(canonical).digest('hex')
    const token = `authorization: Bearer ${tokens[inTurn ? (turn + index) % tokens.length : 0]}\r\n`
    const signed = `x-sig-timestamp: ${timestamp}\r\nx-sig-nonce: ${nonce}\r\nx-sig-signature: ${signature}\r\n`
    return Buffer.from(`${start}${token}${signed}${content}\r\n${body}`, 'latin1')
  })
}

async function startServer(file: string, args: readonly [kind: string, folder: string, url: string]): Promise<Server> {
  const { ZIN_BENCH_PROFILE: profiled, ZIN_BENCH_PROFILE_DIR: profiles = '.' } = process.env
  const execArgv = profiled === args[0] ? ['--cpu-prof', '--cpu-prof-dir', profiles] : []
  const child = fork(file, args, { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`bench: the server ${args[0]} exited with code ${code}`)))
  const [started] = await Promise.race([once(child, 'message'), ended])
  ended.catch(() => undefined)
  return { child, turn: 0, ...(started as Omit<Server, 'child' | 'turn'>) }
}

async function stopServer({ child }: Server): Promise<void> {
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(formatRows(await benchAuth()))
