import { type ChildProcess, fork } from 'node:child_process'
import { createHash, createHmac, createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../app-process.js'
import { startServices } from '../services.js'
import { bundle } from './bundle.js'
import { type BenchRow, formatRows } from './row.js'

// Many short rounds: the speed of a shared machine drifts within seconds, and a ratio is only as good as its two halves are alike.
const rounds = 31
const secondsPerRound = 0.4
const connections = 32
/** More than any of the servers answers in a second. */
const requestsPerSecond = 40_000

/**
 * Signed requests a second through `auth` and `bulletproof`, against bare Koa that does the same checks inline. Each server runs in
 * a process of its own, and they are loaded in turn; the median ratio counts. Every request is signed before its round begins, with
 * a nonce of its own and dated behind the servers' clock.
 *
 * Bare Koa verifies the token of each request with jsonwebtoken. So does the plugin jwt with a token that it sees for the first time;
 * of a known one it checks times and revocation only. One comparison therefore sends a token that is not remembered with each request.
 */
export async function benchAuth(): Promise<BenchRow[]> {
  const services = await startServices()
  const folder = temporaryFolder()
  const servers: Server[] = []
  const file = await bundle('auth-server')
  const start = async (kind: 'bare' | 'memory' | 'redis'): Promise<Server> => {
    const server = await startServer(file, kind, folder.path, services.redisUrl)
    servers.push(server)
    return server
  }
  try {
    const bare = await start('bare')
    const memory = await start('memory')
    const redis = await start('redis')
    const me = await compare(bare, memory, getMe)
    const fresh = await compare(bare, memory, getMeFresh)
    const post = await compare(bare, memory, postNote)
    const onRedis = await compare(bare, redis, getMe)
    return [
      { name: 'bare Koa, checks of a signed GET inline', value: Math.round(me.baseline), unit: 'req/s' },
      { name: 'GET /api/me, stores in memory', value: Math.round(me.measured), unit: 'req/s' },
      { name: 'GET /api/me against bare Koa with the checks', value: me.ratio, unit: 'x', budget: '>= 0.90', pass: me.ratio >= 0.9 },
      { name: 'GET /api/me, each token new, against bare Koa', value: fresh.ratio, unit: 'x' },
      { name: 'signed POST of 1 KiB, stores in memory', value: Math.round(post.measured), unit: 'req/s' },
      { name: 'signed POST of 1 KiB against bare Koa with the checks', value: post.ratio, unit: 'x' },
      { name: 'GET /api/me, stores on Redis', value: Math.round(onRedis.measured), unit: 'req/s' },
      { name: 'GET /api/me on Redis against bare Koa in memory', value: onRedis.ratio, unit: 'x' },
    ]
  } finally {
    await Promise.all(servers.map(stopServer))
    await services.stop()
    folder.remove()
  }
}

/** A server of auth-server.ts under load. */
export interface Server {
  readonly child: ChildProcess
  readonly port: number
  /** More than the plugin jwt remembers. */
  readonly tokens: readonly string[]
  readonly deviceId: string
  readonly secret: string
  /** How many requests were sent with tokens in turn. */
  turn: number
}

export interface Shape {
  readonly method: string
  readonly path: string
  readonly body: string
  /** Whether requests take the tokens in turn, so that none comes again while it is remembered. */
  readonly inTurn?: boolean
}

export const getMe: Shape = { method: 'GET', path: '/api/me', body: '' }
const getMeFresh: Shape = { ...getMe, inTurn: true }
const postNote: Shape = { method: 'POST', path: '/api/notes', body: JSON.stringify({ text: 'x'.repeat(1024 - 11) }) }

export interface Comparison {
  readonly baseline: number
  readonly measured: number
  readonly ratio: number
}

/** Loads two servers in turn; the median ratio counts. */
export async function compare(baseline: Server, measured: Server, shape: Shape): Promise<Comparison> {
  await load(baseline, shape, 3)
  await load(measured, shape, 3)
  const pairs: { baseline: number; measured: number }[] = []
  for (let round = 0; round < rounds; round++) {
    // The order changes from round to round, so that neither is always the one that follows the other.
    const first = round % 2 === 0 ? await load(baseline, shape, secondsPerRound) : undefined
    const second = await load(measured, shape, secondsPerRound)
    pairs.push({ baseline: first ?? (await load(baseline, shape, secondsPerRound)), measured: second })
  }
  return {
    baseline: median(pairs.map((pair) => pair.baseline)),
    measured: median(pairs.map((pair) => pair.measured)),
    ratio: median(pairs.map((pair) => pair.measured / pair.baseline)),
  }
}

/** Requests a second over kept-alive connections, each with one request in flight. Throws when one is not answered with 200. */
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

/** Calls back for each whole answer; both servers send a Content-Length. */
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

export async function startServer(file: string, kind: string, folder: string, redisUrl: string): Promise<Server> {
  const execArgv = process.env.ZIN_BENCH_PROFILE === kind ? ['--cpu-prof', '--cpu-prof-dir', process.env.ZIN_BENCH_PROFILE_DIR ?? '.'] : []
  const child = fork(file, [kind, join(folder, kind), redisUrl], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`bench: the server ${kind} ended with code ${code}`)))
  const [started] = await Promise.race([once(child, 'message'), ended])
  ended.catch(() => undefined)
  return { child, turn: 0, ...(started as Omit<Server, 'child' | 'turn'>) }
}

export async function stopServer({ child }: Server): Promise<void> {
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(formatRows(await benchAuth()))
