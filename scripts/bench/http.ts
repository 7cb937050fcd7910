import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import type { BenchRow } from './row.js'

const rounds = 7
const secondsPerRound = 2
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

async function load(url: string, duration: number): Promise<number> {
  const result = await autocannon({ url, duration, connections })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} answered ${result.non2xx} failures and ${result.errors} errors under load`)
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
