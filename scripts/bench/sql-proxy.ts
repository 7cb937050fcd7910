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
import { inTurn, median } from './rounds.js'
import { type BenchRow, below, formatRows } from './row.js'

const rounds = 15
const secondsPerRound = 0.4
const secret = createSecretKey(Buffer.from('secret-of-the-bench-with-32-bytes-or-more'))

interface Shape {
  readonly path: string
  readonly body: string
}

const point = { sql: 'select id, name from bench_items where id = ?', params: [77] }
const many = { sql: 'select id, name from bench_items limit 1000', params: [] }
const shape = (path: string, body: object): Shape => ({ path: `/svc/rdb/${path}`, body: JSON.stringify(body) })

/**
 * Signed SQL through the relational proxy, against a bare Koa route that runs the SQL of its body with mysql2 and checks nothing. Each runs
 * in a process of its own on the same MariaDB, and they are loaded in turn; the median ratio counts. What the two do is told in
 * sql-proxy-server.ts. The time of a CPU that a request takes in the server's process is told, too: it depends less on what else runs.
 */
export async function benchSqlProxy(): Promise<BenchRow[]> {
  const services = await startServices()
  const folder = temporaryFolder()
  const servers: ChildProcess[] = []
  try {
    await fill(services.mysqlPort)
    const file = await bundle('sql-proxy-server')
    const start = async (kind: 'bare' | 'proxy'): Promise<Server> => {
      const data = join(folder.path, kind)
      mkdirSync(data, { recursive: true })
      writeFileSync(join(data, 'statements.json'), JSON.stringify({ item: { sql: point.sql, params: [{ name: 'id', type: 'int32' }] } }))
      const child = fork(file, [kind, data, String(services.mysqlPort)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      servers.push(child)
      return { child, port: ((await once(child, 'message')) as [number])[0] }
    }
    const [bare, proxy] = [await start('bare'), await start('proxy')]
    const pointQuery = shape('query', point)
    const select = await compare({ bare, proxy, bareShape: pointQuery, shape: pointQuery, connections: 32 })
    const alone = await compare({ bare, proxy, bareShape: pointQuery, shape: pointQuery, connections: 1 })
    const registered = await compare({
      bare,
      proxy,
      bareShape: pointQuery,
      shape: shape('statement', { statementId: 'item', params: [77] }),
      connections: 32,
    })
    const rows = await compare({ bare, proxy, bareShape: shape('query', many), shape: shape('query', many), connections: 8 })
    const batch = await medianOf(async () =>
      load(proxy.port, shape('batch', { statements: Array(10).fill(point), options: { readOnly: true } }), 32),
    )
    const clients: BenchRow[] = []
    for (const connections of [1, 8, 64, 256]) {
      const speed = await medianOf(async () => load(proxy.port, pointQuery, connections))
      clients.push({ name: `signed point SELECT, ${connections} clients`, value: Math.round(speed), unit: 'req/s' })
    }
    return [
      { name: 'bare Koa + mysql2, point SELECT, 32 clients', value: Math.round(select.baseline), unit: 'req/s' },
      { name: 'relational proxy, signed point SELECT', value: Math.round(select.measured), unit: 'req/s' },
      {
        name: 'signed point SELECT against bare Koa + mysql2',
        value: select.ratio,
        unit: 'x',
        budget: '>= 0.75',
        pass: select.ratio >= 0.75,
      },
      below('added p50 of one client', alone.addedMs, 'ms', 0.25),
      { name: 'CPU of a point SELECT in bare Koa + mysql2', value: select.bareCpu, unit: 'µs' },
      { name: 'CPU of a signed point SELECT in the proxy', value: select.cpu, unit: 'µs' },
      { name: 'registered statement against bare Koa + mysql2', value: registered.ratio, unit: 'x' },
      { name: '1,000 rows against bare Koa + mysql2', value: rows.ratio, unit: 'x' },
      { name: 'batch of 10 point SELECTs in a transaction', value: Math.round(batch), unit: 'req/s' },
      ...clients,
    ]
  } finally {
    for (const server of servers) {
      const ended = once(server, 'exit')
      server.disconnect()
      await ended
    }
    await services.stop()
    folder.remove()
  }
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

/** µs of a CPU that the process of a server has used. */
async function cpuOf({ child }: Server): Promise<number> {
  child.send('cpu')
  const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage]
  return user + system
}

/** Of one side in one round. */
interface Speed {
  readonly perSecond: number
  readonly p50Ms: number
  /** µs of a CPU for each request. */
  readonly cpu: number
}

interface Pair {
  readonly bare: Server
  readonly proxy: Server
  readonly bareShape: Shape
  readonly shape: Shape
  readonly connections: number
}

async function compare({ bare, proxy, bareShape, shape: own, connections }: Pair) {
  await load(bare.port, bareShape, connections, 2)
  await load(proxy.port, own, connections, 2)
  const measure = async (server: Server, of: Shape): Promise<Speed> => {
    const times: number[] = []
    const before = await cpuOf(server)
    const perSecond = await load(server.port, of, connections, secondsPerRound, times)
    return { perSecond, p50Ms: median(times), cpu: ((await cpuOf(server)) - before) / times.length }
  }
  const compared = await inTurn(
    rounds,
    () => measure(bare, bareShape),
    () => measure(proxy, own),
  )
  return {
    baseline: median(compared.map(({ baseline }) => baseline.perSecond)),
    measured: median(compared.map(({ measured }) => measured.perSecond)),
    ratio: median(compared.map(({ baseline, measured }) => measured.perSecond / baseline.perSecond)),
    addedMs: median(compared.map(({ baseline, measured }) => measured.p50Ms - baseline.p50Ms)),
    bareCpu: median(compared.map(({ baseline }) => baseline.cpu)),
    cpu: median(compared.map(({ measured }) => measured.cpu)),
  }
}

async function medianOf(measure: () => Promise<number>): Promise<number> {
  const values: number[] = []
  for (let round = 0; round < 5; round++) values.push(await measure())
  return median(values)
}

/** Requests a second over kept-alive connections, each with one in flight; `times` gets the time of each in ms. */
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
