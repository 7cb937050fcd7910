import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { build } from 'esbuild'
import { type AppProcess, copyExample, type Env, linkPackages, runCli, startApp, temporaryFolder } from '../app-process.js'
import { startServices } from '../services.js'
import { median } from './rounds.js'
import { type BenchRow, below } from './row.js'

const runs = 5
const idleMs = 3_000

/** Measures the boot of the full example until `/health/ready` is 200, its idle memory, and `zin --help`. Medians of several processes. */
export async function benchBoot(): Promise<readonly BenchRow[]> {
  const temporary = temporaryFolder()
  const services = await startServices()
  try {
    const app = await compileExample(temporary.path)
    const servers = {
      REDIS_URL: services.redisUrl,
      DB_CONNECTION: 'rdb',
      DB_HOST: '127.0.0.1',
      DB_PORT: `${services.mysqlPort}`,
      DB_DATABASE: 'zin',
      DB_USERNAME: 'zin',
      DB_PASSWORD: 'zin',
    }
    const data = (name: string): Env => ({ ZIN_DATA_DIR: join(temporary.path, name) })
    await boot(app, servers)
    const onServers = await repeat(() => boot(app, servers))
    const first = await repeat((run) => boot(app, data(`first-${run}`)))
    const again = await repeat(() => boot(app, data('first-0')))
    const help = await repeat(() => timeHelp(temporary.path))
    return [
      below('boot to ready, Redis and MariaDB', median(onServers.map((run) => run.readyMs)), 'ms', 1_000),
      below('boot to ready, embedded, again', median(again.map((run) => run.readyMs)), 'ms', 1_500),
      below('boot to ready, embedded, very first', median(first.map((run) => run.readyMs)), 'ms', 5_000),
      below('zin --help', median(help), 'ms', 150),
      below('resident memory when idle, Redis and MariaDB', median(onServers.map((run) => run.rssMb)), 'MB', 150),
      below('resident memory when idle, embedded, again', median(again.map((run) => run.rssMb)), 'MB', 300),
    ]
  } finally {
    await services.stop()
    temporary.remove()
  }
}

async function repeat<T>(measure: (run: number) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = []
  for (let run = 0; run < runs; run += 1) results.push(await measure(run))
  return results
}

/** The example as it would be deployed: configuration and processors as JavaScript, so that nothing is compiled at the start. */
async function compileExample(target: string): Promise<string> {
  const source = copyExample('full', join(target, 'source'))
  const folder = join(target, 'app')
  await mkdir(folder)
  const common = { format: 'esm', platform: 'node', packages: 'external', bundle: true } as const
  await build({ ...common, entryPoints: [join(source, 'zin.config.ts')], outfile: join(folder, 'zin.config.mjs') })
  await build({
    ...common,
    entryPoints: [join(source, 'processors/email-sender.ts')],
    outfile: join(folder, 'processors/email-sender.mjs'),
  })
  const config = join(folder, 'zin.config.mjs')
  writeFileSync(config, readFileSync(config, 'utf8').replaceAll('processors/email-sender.ts', 'processors/email-sender.mjs'))
  linkPackages(folder)
  return folder
}

async function boot(folder: string, env: Env): Promise<{ readonly readyMs: number; readonly rssMb: number }> {
  const app = await startApp(folder, { env: { ...settings, ...env } })
  await delay(idleMs)
  const rssMb = residentMb(app)
  const code = await app.end('SIGTERM')
  if (code !== 0) throw new Error(`the app exited with code ${code}:\n${app.output()}`)
  return { readyMs: app.readyMs, rssMb }
}

/** The settings of the example's `.env`; the data of the measured app is deleted. */
const settings: Env = {
  APP_KEY: 'k'.repeat(44),
  BULLETPROOF_SIGNING_SECRET: 's'.repeat(44),
  DEMO_PASSWORD: 'p'.repeat(20),
  WORKER_PERSISTENCE_DRIVER: 'db',
  WORKER_AUTO_START: 'true',
}

function residentMb(app: AppProcess): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${app.pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kb) / 1024)
}

async function timeHelp(folder: string): Promise<number> {
  const startedAt = performance.now()
  const { code, stderr } = await runCli(['--help'], folder)
  if (code !== 0) throw new Error(`zin --help exited with code ${code}: ${stderr}`)
  return performance.now() - startedAt
}
