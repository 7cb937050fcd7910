import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../app-process.js'
import { bundle } from './bundle.js'
import { median } from './rounds.js'
import type { BenchRow } from './row.js'

const rounds = 5
const secondsPerRound = 1
const connections = 32

type Peer = 'bare' | 'koa' | 'fastify' | 'zin'
type Logs = 'silent' | 'json' | 'text'

interface Shape {
  readonly name: string
  readonly path: string
  readonly body?: string
  readonly hasToken?: boolean
  /** Default 200. */
  readonly status?: number
}

const order = JSON.stringify({ product: 'chair', amount: 2, note: 'for the garden' })
const get: Shape = { name: 'GET', path: '/hello' }
const shapes: readonly Shape[] = [
  get,
  { name: 'GET with a parameter', path: '/users/4711' },
  { name: 'POST with a schema', path: '/orders', body: order },
  { name: 'two middleware and auth', path: '/guarded', hasToken: true },
  { name: '404', path: '/nothing/here', status: 404 },
  { name: '20 kB of JSON', path: '/items' },
]

/** A goal of a row: against which peer, in which mode. */
const goals: readonly { readonly peer: Peer; readonly logs: Logs; readonly shapes: readonly string[]; readonly least: number }[] = [
  { peer: 'bare', logs: 'silent', shapes: ['GET'], least: 0.9 },
  { peer: 'koa', logs: 'silent', shapes: shapes.map(({ name }) => name), least: 1 },
  { peer: 'fastify', logs: 'silent', shapes: ['GET', 'GET with a parameter'], least: 0.9 },
  { peer: 'fastify', logs: 'silent', shapes: ['POST with a schema'], least: 0.85 },
  { peer: 'fastify', logs: 'json', shapes: shapes.map(({ name }) => name), least: 1 },
]

/**
 * Measures requests per second, and per second of the server's CPU, of Zin, Koa with its router, and Fastify: each as in production, in a process
 * of its own, loaded in alternating rounds by 32 connections, so that other work on the machine affects all of them alike. With `taskset`, the
 * servers share one core and the load has another. `BENCH_NODES` lists further binaries of Node, separated by commas.
 */
export async function benchHttp(): Promise<BenchRow[]> {
  const file = await bundle('http-server')
  const others = (process.env.BENCH_NODES ?? '').split(',').filter((path) => path !== '')
  const rows: BenchRow[] = []
  for (const node of [process.execPath, ...others]) rows.push(...(await benchNode(file, node)))
  return rows
}

async function benchNode(file: string, node: string): Promise<readonly BenchRow[]> {
  const { stdout } = await run(node, ['--version'])
  const version = `Node ${stdout.trim().slice(1).split('.')[0]}`
  const folder = temporaryFolder()
  const servers: Server[] = []
  const start = async (peer: Peer, logs: Logs): Promise<Server> => {
    const server = await startServer(node, file, peer, logs, join(folder.path, `${peer}-${logs}`))
    servers.push(server)
    return server
  }
  try {
    const silent = [
      await start('bare', 'silent'),
      await start('koa', 'silent'),
      await start('fastify', 'silent'),
      await start('zin', 'silent'),
    ]
    const logged = [await start('fastify', 'json'), await start('zin', 'json'), await start('zin', 'text')]
    const rows: BenchRow[] = []
    for (const shape of shapes) {
      const costs = await measure([...silent.filter(({ peer }) => peer !== 'bare' || shape === get), ...logged], shape, folder.path)
      rows.push(...rowsOf(costs, shape, version))
    }
    return rows
  } finally {
    await Promise.all(servers.map(stop))
    folder.remove()
  }
}

/** What a server did in a round. */
interface Cost {
  readonly perSecond: number
  readonly perCpuSecond: number
}

/** Loads the servers in turn, `rounds` times; the order rotates. */
async function measure(servers: readonly Server[], shape: Shape, folder: string): Promise<ReadonlyMap<Server, readonly Cost[]>> {
  const costs = new Map<Server, Cost[]>(servers.map((server) => [server, []]))
  for (const server of servers) await load(server, shape, folder)
  for (let round = 0; round < rounds; round++) {
    const order = [...servers.slice(round % servers.length), ...servers.slice(0, round % servers.length)]
    for (const server of order) costs.get(server)?.push(await load(server, shape, folder))
  }
  return costs
}

function rowsOf(costs: ReadonlyMap<Server, readonly Cost[]>, shape: Shape, version: string): readonly BenchRow[] {
  const of = (peer: Peer, logs: Logs): readonly Cost[] =>
    [...costs].find(([server]) => server.peer === peer && server.logs === logs)?.[1] ?? []
  const ratio = (measured: readonly Cost[], baseline: readonly Cost[]): number =>
    median(measured.map(({ perCpuSecond }, i) => perCpuSecond / (baseline[i]?.perCpuSecond ?? Number.NaN)))
  const against = (peer: Peer, logs: Logs): BenchRow => {
    const value = ratio(of('zin', logs), of(peer, logs))
    const name = `${version}: ${shape.name}, ${logs === 'silent' ? 'silent' : 'both with a line per request'}, against ${names[peer]}`
    const goal = goals.find((one) => one.peer === peer && one.logs === logs && one.shapes.includes(shape.name))
    return goal === undefined
      ? { name, value, unit: 'x' }
      : { name, value, unit: 'x', budget: `>= ${goal.least}`, pass: value >= goal.least }
  }
  const perSecond = Math.round(median(of('zin', 'silent').map((cost) => cost.perSecond)))
  const text = 1 / ratio(of('zin', 'text'), of('zin', 'json'))
  return [
    { name: `${version}: ${shape.name}, silent`, value: perSecond, unit: 'req/s' },
    ...(shape === get ? [against('bare', 'silent')] : []),
    against('koa', 'silent'),
    against('fastify', 'silent'),
    against('fastify', 'json'),
    {
      name: `${version}: ${shape.name}, CPU with a line in text against JSON`,
      value: text,
      unit: 'x',
      budget: '<= 1.2',
      pass: text <= 1.2,
    },
  ]
}

const names: Readonly<Record<Peer, string>> = { bare: 'Koa', koa: 'Koa + router', fastify: 'Fastify', zin: 'Zin' }

interface Server {
  readonly peer: Peer
  readonly logs: Logs
  readonly child: ChildProcess
  readonly port: number
  readonly token: string
}

async function startServer(node: string, file: string, peer: Peer, logs: Logs, folder: string): Promise<Server> {
  const child = fork(file, [peer, logs, folder], { execPath: node, execArgv: [] })
  const [started] = (await once(child, 'message')) as [{ readonly port: number; readonly token: string }]
  await pin(child, 0)
  return { peer, logs, child, ...started }
}

async function stop({ child }: Server): Promise<void> {
  const ended = once(child, 'exit')
  child.kill()
  await ended
}

async function cpuMs({ child }: Server): Promise<number> {
  const answered = once(child, 'message')
  child.send('cpu')
  const [usage] = (await answered) as [{ readonly cpuMs: number }]
  return usage.cpuMs
}

const run = promisify(execFile)

/** Binds a process to a core, where that is possible. */
async function pin({ pid }: ChildProcess, core: number): Promise<void> {
  if (availableParallelism() > core) await run('taskset', ['-acp', String(core), String(pid)]).catch(() => undefined)
}

async function load(server: Server, shape: Shape, folder: string): Promise<Cost> {
  const before = await cpuMs(server)
  const perSecond = (await loadByWrk(server, shape, folder)) ?? (await loadByAutocannon(server, shape))
  const used = (await cpuMs(server)) - before
  return { perSecond, perCpuSecond: (perSecond * secondsPerRound * 1000) / used }
}

/** Uses wrk if it is installed: a load generator in JavaScript is slower than the servers and would hide their differences. */
async function loadByWrk(server: Server, shape: Shape, folder: string): Promise<number | undefined> {
  const script = join(folder, 'request.lua')
  const headers = headersOf(server, shape).map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
  const body = shape.body === undefined ? [] : ['wrk.method = "POST"', `wrk.body = ${JSON.stringify(shape.body)}`]
  writeFileSync(script, [...body, ...headers].join('\n'))
  const url = `http://127.0.0.1:${server.port}${shape.path}`
  const wrk = ['wrk', '-t1', `-c${connections}`, `-d${secondsPerRound}s`, '-s', script, url]
  const [command = '', ...args] = availableParallelism() > 1 ? ['taskset', '-c', '1', ...wrk] : wrk
  const { stdout } = await run(command, args).catch((error: NodeJS.ErrnoException & { readonly stderr?: string }) => {
    if (error.code === 'ENOENT' || /failed to execute/.test(error.stderr ?? '')) return { stdout: undefined }
    throw error
  })
  if (stdout === undefined) return undefined
  const hasFailed = /Socket errors/.test(stdout) || /Non-2xx/.test(stdout) !== (shape.status === 404)
  if (hasFailed) throw new Error(`${url} of ${server.peer} failed under load:\n${stdout}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
}

async function loadByAutocannon(server: Server, shape: Shape): Promise<number> {
  const autocannon = createRequire(import.meta.url).resolve('autocannon')
  const url = `http://127.0.0.1:${server.port}${shape.path}`
  const headers = headersOf(server, shape).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const body = shape.body === undefined ? [] : ['-m', 'POST', '-b', shape.body]
  const args = [autocannon, '--json', '-c', `${connections}`, '-d', `${secondsPerRound}`, ...headers, ...body, url]
  const result = JSON.parse((await run(process.execPath, args)).stdout) as {
    readonly non2xx: number
    readonly errors: number
    readonly requests: { readonly average: number }
  }
  const hasFailed = result.errors > 0 || result.non2xx > 0 !== (shape.status === 404)
  if (hasFailed) throw new Error(`${url} of ${server.peer} returned ${result.non2xx} failures and ${result.errors} errors under load`)
  return result.requests.average
}

function headersOf({ token }: Server, shape: Shape): readonly (readonly [name: string, value: string])[] {
  return [
    ...(shape.body === undefined ? [] : [['content-type', 'application/json'] as const]),
    ...(shape.hasToken ? [['authorization', `Bearer ${token}`] as const] : []),
  ]
}
