import type { ChildProcess } from 'node:child_process'
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { bundle } from './bundle.js'
import { inTurn, median, medianRatio, type Round } from './rounds.js'
import type { BenchRow } from './row.js'

const pairs = 5
const roundsPerPair = 4
const secondsPerRound = 1
const connections = 32

/**
 * Measures requests per second of a probe and of a plain route through the whole HTTP layer, against bare Koa with one route. The servers run
 * in separate processes and are loaded in alternating rounds, so that other work on the machine affects all of them alike. Two processes of the
 * same code can differ by a tenth, so there are several pairs; the median ratio of all rounds counts.
 */
export async function benchHttp(): Promise<BenchRow[]> {
  const file = await bundle('http-server')
  const probe: Round[] = []
  const route: Round[] = []
  const logged: Round[] = []
  for (let pair = 0; pair < pairs; pair++) {
    const bare = await startServer(file, 'bare')
    const zin = await startServer(file, 'zin')
    const loggedZin = await startServer(file, 'logged')
    try {
      const baseline = `http://127.0.0.1:${bare.port}/health/live`
      probe.push(...(await compare(baseline, `http://127.0.0.1:${zin.port}/health/live`)))
      route.push(...(await compare(baseline, `http://127.0.0.1:${zin.port}/hello`)))
      logged.push(...(await compare(baseline, `http://127.0.0.1:${loggedZin.port}/hello`)))
    } finally {
      await Promise.all([bare, zin, loggedZin].map(({ child }) => stopServer(child)))
    }
  }
  const ratio = medianRatio(probe)
  return [
    { name: 'bare Koa, one route', value: Math.round(median(probe.map((round) => round.baseline))), unit: 'req/s' },
    { name: 'GET /health/live, whole HTTP layer', value: Math.round(median(probe.map((round) => round.measured))), unit: 'req/s' },
    { name: 'GET /health/live against bare Koa', value: ratio, unit: 'x', budget: '>= 0.90', pass: ratio >= 0.9 },
    { name: 'a plain route against bare Koa', value: medianRatio(route), unit: 'x' },
    { name: 'the same with its line in the log (LOG_REQUESTS)', value: medianRatio(logged), unit: 'x' },
  ]
}

async function compare(baselineUrl: string, measuredUrl: string): Promise<readonly Round[]> {
  await load(baselineUrl, 1)
  await load(measuredUrl, 1)
  return inTurn(
    roundsPerPair,
    () => load(baselineUrl, secondsPerRound),
    () => load(measuredUrl, secondsPerRound),
  )
}

const run = promisify(execFile)

async function load(url: string, seconds: number): Promise<number> {
  return (await loadByWrk(url, seconds)) ?? (await loadByAutocannon(url, seconds))
}

/** Uses wrk if it is installed: a load generator in JavaScript is slower than the servers and would hide their differences. */
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
    throw new Error(`${url} returned ${result.non2xx} failures and ${result.errors} errors under load`)
  return result.requests.average
}

async function startServer(file: string, kind: 'bare' | 'zin' | 'logged'): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(file, [kind], { execArgv: [] })
  const [port] = await once(child, 'message')
  return { child, port: Number(port) }
}

async function stopServer(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill()
  await ended
}
