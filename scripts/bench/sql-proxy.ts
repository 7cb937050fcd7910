import { type ChildProcess, fork } from 'node:child_process'
import { createHash, createHmac, createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { temporaryFolder } from '../app-process.js'
import { startServices } from '../services.js'
import { bundle } from './bundle.js'
import { inTurn, median, type Round } from './rounds.js'
import { type BenchRow, below, formatRows } from './row.js'

// Rounds of each comparison per generation.
const rounds = 9
const secondsPerRound = 0.4
/** Two processes of the same code differ for as long as they live, so each generation starts new ones. */
const generations = 3
/** Rounds per generation of measurements without a comparison. */
const roundsAlone = 3
const clients = [1, 8, 64, 256]
const secret = createSecretKey(Buffer.from('secret-of-the-bench-with-32-bytes-or-more'))

interface Shape {
  readonly path: string
  readonly body: string
}

const point = { sql: 'select id, name from bench_items where id = ?', params: [77] }
const many = { sql: 'select id, name from bench_items limit 1000', params: [] }
const shape = (path: string, body: object): Shape => ({ path: `/svc/rdb/${path}`, body: JSON.stringify(body) })

/**
 * Measures signed SQL through the relational proxy, against a bare Koa route that runs the SQL of its body with mysql2 and checks nothing; see
 * sql-proxy-server.ts for what the two do. They run in separate processes on the same MariaDB and are loaded in alternating rounds; the median
 * ratio counts. The CPU time per request in the server's process is reported, too, because it depends less on what else runs.
 */
export async function benchSqlProxy(): Promise<BenchRow[]> {
  const services = await startServices()
  const select: Round<Speed>[] = []
  const alone: Round<Speed>[] = []
  const registered: Round<Speed>[] = []
  const rows: Round<Speed>[] = []
  const batch: number[] = []
  const speeds = new Map(clients.map((connections) => [connections, [] as number[]]))
  const pointQuery = shape('query', point)
  const item = shape('statement', { statementId: 'item', params: [77] })
  const batchOfTen = shape('batch', { statements: Array(10).fill(point), options: { readOnly: true } })
  try {
    await fill(services.mysqlPort)
    await inGenerations(services.mysqlPort, async (bare, proxy) => {
      select.push(...(await compare({ bare, proxy, bareShape: pointQuery, shape: pointQuery, connections: 32 })))
      alone.push(...(await compare({ bare, proxy, bareShape: pointQuery, shape: pointQuery, connections: 1 })))
      registered.push(...(await compare({ bare, proxy, bareShape: pointQuery, shape: item, connections: 32 })))
      rows.push(...(await compare({ bare, proxy, bareShape: shape('query', many), shape: shape('query', many), connections: 8 })))
      for (let round = 0; round < roundsAlone; round++) {
        batch.push(await load(proxy.port, batchOfTen, 32))
        for (const [connections, found] of speeds) found.push(await load(proxy.port, pointQuery, connections))
      }
    })
  } finally {
    await services.stop()
  }
  const point32 = summary(select)
  return [
    { name: 'bare Koa + mysql2, point SELECT, 32 clients', value: Math.round(point32.baseline), unit: 'req/s' },
    { name: 'relational proxy, signed point SELECT', value: Math.round(point32.measured), unit: 'req/s' },
    {
      name: 'signed point SELECT against bare Koa + mysql2',
      value: point32.ratio,
      unit: 'x',
      budget: '>= 0.75',
      pass: point32.ratio >= 0.75,
    },
    below('added p50 of one client', summary(alone).addedMs, 'ms', 0.25),
    { name: 'CPU of a point SELECT in bare Koa + mysql2', value: point32.bareCpu, unit: 'µs' },
    { name: 'CPU of a signed point SELECT in the proxy', value: point32.cpu, unit: 'µs' },
    { name: 'registered statement against bare Koa + mysql2', value: summary(registered).ratio, unit: 'x' },
    { name: '1,000 rows against bare Koa + mysql2', value: summary(rows).ratio, unit: 'x' },
    { name: 'batch of 10 point SELECTs in a transaction', value: Math.round(median(batch)), unit: 'req/s' },
    ...[...speeds].map(([connections, found]): BenchRow => {
      return { name: `signed point SELECT, ${connections} clients`, value: Math.round(median(found)), unit: 'req/s' }
    }),
  ]
}

/** Runs a comparison several times, each time with new processes. */
async function inGenerations(dbPort: number, compareAll: (bare: Server, proxy: Server) => Promise<void>): Promise<void> {
  const file = await bundle('sql-proxy-server')
  for (let generation = 0; generation < generations; generation++) {
    const folder = temporaryFolder()
    const servers: Server[] = []
    const start = async (kind: 'bare' | 'proxy'): Promise<Server> => {
      const server = await startServer(file, [kind, join(folder.path, kind), String(dbPort)])
      servers.push(server)
      return server
    }
    try {
      await compareAll(await start('bare'), await start('proxy'))
    } finally {
      await Promise.all(servers.map(stopServer))
      folder.remove()
    }
  }
}

async function startServer(file: string, args: readonly [kind: string, data: string, dbPort: string]): Promise<Server> {
  mkdirSync(args[1])
  writeFileSync(join(args[1], 'statements.json'), JSON.stringify({ item: { sql: point.sql, params: [{ name: 'id', type: 'int32' }] } }))
  const child = fork(file, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`bench: the server ${args[0]} exited with code ${code}`)))
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number]
  ended.catch(() => undefined)
  return { child, port }
}

async function stopServer({ child }: Server): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
}

async function fill(port: number): Promise<void> {
  const connection = await createConnection({ host: '127.0.0.1', port, user: 'zin', password: 'zin', database: 'zin' })
  await connection.query('create table bench_items (id int primary key, name varchar(40) not null)')
  await connection.query("insert into bench_items select seq, concat('item number ', seq) from seq_1_to_2000")
  await connection.query("create user bench_reader@'127.0.0.1' identified by 'reads'")
  await connection.query("grant select on zin.* to bench_reader@'127.0.0.1'")
  await connection.end()
}

interface Server {
  readonly child: ChildProcess
  readonly port: number
}

/** The CPU time that a server's process has used, in µs. */
async function cpuOf({ child }: Server): Promise<number> {
  child.send('cpu')
  const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage]
  return user + system
}

/** The measurement of one side in one round. */
interface Speed {
  readonly perSecond: number
  readonly p50Ms: number
  /** CPU time per request, in µs. */
  readonly cpu: number
}

interface Pair {
  readonly bare: Server
  readonly proxy: Server
  readonly bareShape: Shape
  readonly shape: Shape
  readonly connections: number
}

async function compare({ bare, proxy, bareShape, shape: own, connections }: Pair): Promise<readonly Round<Speed>[]> {
  await load(bare.port, bareShape, connections, 2)
  await load(proxy.port, own, connections, 2)
  const measure = async (server: Server, of: Shape): Promise<Speed> => {
    const times: number[] = []
    const before = await cpuOf(server)
    const perSecond = await load(server.port, of, connections, secondsPerRound, times)
    return { perSecond, p50Ms: median(times), cpu: ((await cpuOf(server)) - before) / times.length }
  }
  return inTurn(
    rounds,
    () => measure(bare, bareShape),
    () => measure(proxy, own),
  )
}

/** The medians of all rounds. */
function summary(compared: readonly Round<Speed>[]) {
  return {
    baseline: median(compared.map(({ baseline }) => baseline.perSecond)),
    measured: median(compared.map(({ measured }) => measured.perSecond)),
    ratio: median(compared.map(({ baseline, measured }) => measured.perSecond / baseline.perSecond)),
    addedMs: median(compared.map(({ baseline, measured }) => measured.p50Ms - baseline.p50Ms)),
    bareCpu: median(compared.map(({ baseline }) => baseline.cpu)),
    cpu: median(compared.map(({ measured }) => measured.cpu)),
  }
}

/** Measures requests per second over keep-alive connections, each with one in flight; adds the time of each in ms to `times`. */
async function load(port: number, own: Shape, connections: number, seconds = secondsPerRound, times: number[] = []): Promise<number> {
  const requests = sign(port, own, Math.ceil(30_000 * seconds))
  let [sent, answered] = [0, 0]
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1000
  const client = (): Promise<void> =>
    new Promise((done, fail) => {
      const socket = connect(port, '127.0.0.1').setNoDelay()
      let began = 0
      const next = (): void => {
        began = performance.now()
        if (began >= endsAt) {
          socket.destroy()
          done()
        } else if (sent === requests.length) fail(new Error('bench: the server is faster than there are signed requests'))
        else socket.write(requests[sent++] as Buffer)
      }
      onAnswers(socket, fail, () => {
        answered++
        times.push(performance.now() - began)
        next()
      })
      socket.on('connect', next)
    })
  await Promise.all(Array.from({ length: connections }, client))
  return answered / ((performance.now() - startedAt) / 1000)
}

function onAnswers(socket: Socket, fail: (error: Error) => void, answered: () => void): void {
  let chunks: Buffer[] = []
  let [size, whole] = [0, Number.POSITIVE_INFINITY]
  socket.on('error', fail)
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (whole === Number.POSITIVE_INFINITY) {
      const text = Buffer.concat(chunks).toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      if (head < 0) return
      if (!text.startsWith('HTTP/1.1 200 ')) return fail(new Error(`bench: a request was not accepted:\n${text}`))
      whole = head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1])
    }
    if (size < whole) return
    chunks = []
    size = 0
    whole = Number.POSITIVE_INFINITY
    answered()
  })
}

function sign(port: number, { path, body }: Shape, count: number): readonly Buffer[] {
  const bodySha256 = createHash('sha256').update(body).digest('hex')
  const start = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-sig-key-id: bench\r\nx-sig-body-sha256: ${bodySha256}\r\n`
  const run = process.hrtime.bigint().toString(36)
  const timestamp = Date.now()
  return Array.from({ length: count }, (_, index) => {
    const nonce = `bench-sql-${run}-${index}`
    const signature = createHmac('sha256', secret).update(`POST\n${path}\n\n${timestamp}\n${nonce}\n${bodySha256}`).digest('hex')
    return Buffer.from(
      `${start}x-sig-timestamp: ${timestamp}\r\nx-sig-nonce: ${nonce}\r\nx-sig-signature: ${signature}\r\n\r\n${body}`,
      'latin1',
    )
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(formatRows(await benchSqlProxy()))
