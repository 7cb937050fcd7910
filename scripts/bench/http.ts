import type { ChildProcess } from 'node:child_process'
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { BenchRow } from './row.js'

const rounds = 15
const secondsPerRound = 1
const connections = 32

/**
 * Requests a second of a probe and of a plain route through the whole HTTP layer against bare Koa with one route. Both servers run
 * in processes of their own and are loaded in turn, so that what else the machine does hits both alike; the median ratio counts.
 */
export async function benchHttp(): Promise<BenchRow[]> {
  const bare = await startServer('bare')
  const zin = await startServer('zin')
  try {
    const bareUrl = `http://127.0.0.1:${bare.port}/health/live`
    const probe = await compare(bareUrl, `http://127.0.0.1:${zin.port}/health/live`)
    const route = await compare(bareUrl, `http://127.0.0.1:${zin.port}/hello`)
    return [
      { name: 'bare Koa, one route', value: Math.round(probe.baseline), unit: 'req/s' },
      { name: 'GET /health/live, whole HTTP layer', value: Math.round(probe.measured), unit: 'req/s' },
      { name: 'GET /health/live against bare Koa', value: probe.ratio, unit: 'x', budget: '>= 0.90', pass: probe.ratio >= 0.9 },
      { name: 'a plain route against bare Koa', value: route.ratio, unit: 'x' },
    ]
  } finally {
    await Promise.all([stopServer(bare.child), stopServer(zin.child)])
  }
}

interface Comparison {
  readonly baseline: number
  readonly measured: number
  readonly ratio: number
}

async function compare(baselineUrl: string, measuredUrl: string): Promise<Comparison> {
  await load(baselineUrl, 1)
  await load(measuredUrl, 1)
  const pairs: { baseline: number; measured: number }[] = []
  for (let round = 0; round < rounds; round++) {
    // The order changes from round to round, so that neither is always the one that follows the other.
    const first = round % 2 === 0 ? await load(baselineUrl, secondsPerRound) : undefined
    const measured = await load(measuredUrl, secondsPerRound)
    pairs.push({ baseline: first ?? (await load(baselineUrl, secondsPerRound)), measured })
  }
  return {
    baseline: median(pairs.map((pair) => pair.baseline)),
    measured: median(pairs.map((pair) => pair.measured)),
    ratio: median(pairs.map((pair) => pair.measured / pair.baseline)),
  }
}

const run = promisify(execFile)

async function load(url: string, seconds: number): Promise<number> {
  return (await loadByWrk(url, seconds)) ?? (await loadByAutocannon(url, seconds))
}

/** wrk where it is installed: a load generator in JavaScript is slower than the servers measured here and would level them. */
async function loadByWrk(url: string, seconds: number): Promise<number | undefined> {
  const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, url]).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return { stdout: undefined }
    throw error
  })
  if (stdout === undefined) return undefined
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${url} failed under load:\n${stdout}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
}

async function loadByAutocannon(url: string, seconds: number): Promise<number> {
  const autocannon = createRequire(import.meta.url).resolve('autocannon')
  const { stdout } = await run(process.execPath, [autocannon, '--json', '-c', `${connections}`, '-d', `${seconds}`, url])
  const result = JSON.parse(stdout) as { non2xx: number; errors: number; requests: { average: number } }
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url} answered ${result.non2xx} failures and ${result.errors} errors under load`)
  return result.requests.average
}

async function startServer(kind: 'bare' | 'zin'): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(fileURLToPath(new URL('./http-server.ts', import.meta.url)), [kind], { execArgv: ['--import', 'tsx'] })
  const [port] = await once(child, 'message')
  return { child, port: Number(port) }
}

async function stopServer(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill()
  await ended
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
