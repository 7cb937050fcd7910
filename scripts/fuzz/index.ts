// npm run fuzz [-- --requests 30000 --seed 1 --backend embedded | services --route <text> --except <text>]: sends hostile requests, generated
// from /openapi.json, to the built full example with the parts in `hostile`, on the embedded stores and on Redis and MariaDB. Fails on a 5xx,
// a crash, or memory that is not released.
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Env, temporaryFolder } from '../app-process.js'
import { startServices } from '../services.js'
import { createClient } from './client.js'
import { type Document, type Known, routesOf } from './requests.js'
import { fuzz, type Summary } from './run.js'
import { type Memory, startTarget, type Target } from './target.js'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '30000' },
    seed: { type: 'string' },
    backend: { type: 'string' },
    route: { type: 'string' },
    except: { type: 'string', multiple: true, default: [] },
    verbose: { type: 'boolean', default: false },
  },
})
const total = Number(values.requests)
const seed = Number(values.seed ?? Date.now() % 1_000_000_000)
const lanes = 4
const mayKeepMb = 20
const known: Known = {
  names: ['email-sender', 'fuzz-1', 'fuzz-2', 'Fuzz_3'],
  versions: ['1.0.0', '2.0.0', '1.0'],
  ids: ['1', '2', 'fuzz', 'op_1'],
}

const backends: Readonly<Record<string, (folder: string) => Promise<boolean>>> = {
  embedded: (folder) => runOn('embedded', folder, {}),
  async services(folder) {
    const services = await startServices()
    try {
      const database = { DB_CONNECTION: 'rdb', DB_HOST: '127.0.0.1', DB_PORT: `${services.mysqlPort}`, DB_DATABASE: 'zin' }
      return await runOn('services', folder, { REDIS_URL: services.redisUrl, ...database, DB_USERNAME: 'zin', DB_PASSWORD: 'zin' })
    } finally {
      await services.stop()
    }
  },
}

async function runOn(backend: string, folder: string, env: Env): Promise<boolean> {
  const target = await startTarget(folder, env)
  const clients = await Promise.all(Array.from({ length: lanes }, () => createClient(target.url, target.account)))
  try {
    const document = (await (await fetch(`${target.url}/openapi.json`)).json()) as Document
    const routes = routesOf(document, known).filter(
      ({ title }) => title.includes(values.route ?? '') && !values.except.some((text) => title.includes(text)),
    )
    // The first requests load code and fill caches, which stay by design.
    const warm = await fuzz(routes, clients, Math.ceil(total / 10), seed, () => makeWorkers(target))
    if (warm.gone) return report(backend, warm)
    await deleteWorkers(target)
    const before = await target.memory()
    const summary = await fuzz(routes, clients, total, seed + 1_000_000, () => makeWorkers(target))
    if (summary.gone) return report(backend, summary)
    await deleteWorkers(target)
    const after = await settled(target, before)
    const fine = report(backend, { ...summary, sent: warm.sent + summary.sent, findings: [...warm.findings, ...summary.findings] })
    return reportMemory(before, after) && fine
  } catch (error) {
    console.error(`✗ ${backend}: ${String(error)}; output of the app:\n${target.output().slice(-5_000)}`)
    return false
  } finally {
    for (const client of clients) client.close()
    const code = await target.end()
    if (code !== 0) console.error(`✗ ${backend}: the app exited with ${code}:\n${target.output().slice(-5_000)}`)
    process.exitCode ||= code === 0 ? 0 : 1
  }
}

/** Creates the known workers that do not exist, so that requests find something to change. */
async function makeWorkers({ url }: Target): Promise<void> {
  const { workers } = (await (await fetch(`${url}/api/workers?includeInactive=true`)).json()) as { workers: readonly { name: string }[] }
  const made = new Set(workers.map(({ name }) => name))
  for (const name of known.names.filter((one) => !made.has(one))) {
    const body = JSON.stringify({ name, queueName: name, processor: 'processors/email-sender.ts', version: '1.0.0' })
    await fetch(`${url}/api/workers`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  }
}

/** Deletes the workers, so that the memory they hold is not counted. */
async function deleteWorkers({ url }: Target): Promise<void> {
  for (const name of known.names) await fetch(`${url}/api/workers/${name}`, { method: 'DELETE' })
}

/** The memory after open requests, closing connections and lingering timers have ended: waits up to 30 s for it to fall. */
async function settled(target: Target, before: Memory): Promise<Memory> {
  let memory = await target.memory()
  for (let tries = 0; tries < 30 && memory.held > before.held + mayKeepMb; tries += 1) {
    await delay(1_000)
    memory = await target.memory()
  }
  return memory
}

/** One line per route: how often each status and code was returned, and the slowest response. */
function responseLines({ responses, slowest }: Summary): readonly string[] {
  return [...responses].map(([route, kinds]) => {
    const counts = [...kinds].sort(([, a], [, b]) => b - a).map(([kind, count]) => `${kind} × ${count}`)
    return `${route}: ${counts.join(', ')}; at most ${Math.round(slowest.get(route) ?? 0)} ms`
  })
}

function report(backend: string, summary: Summary): boolean {
  console.log(`${backend}: ${summary.sent} requests, seed ${seed}`)
  if (values.verbose) for (const line of responseLines(summary)) console.log(`  ${line}`)
  for (const { route, what, request, seed: own } of summary.findings)
    console.log(`✗ ${route}: ${what}\n  seed ${own}: ${JSON.stringify(request).slice(0, 600)}`)
  if (summary.gone) console.log('✗ one of these requests ended the app')
  return summary.findings.length === 0 && !summary.gone
}

function reportMemory(before: Memory, after: Memory): boolean {
  const grew = Math.round((after.held - before.held) * 10) / 10
  console.log(`  held ${before.held} → ${after.held} MB (${grew} MB), resident ${before.rss} → ${after.rss} MB`)
  if (grew > mayKeepMb) console.log(`✗ ${grew} MB were not released; the limit is ${mayKeepMb}`)
  return grew <= mayKeepMb
}

const chosen = Object.entries(backends).filter(([name]) => values.backend === undefined || name === values.backend)
const temporary = temporaryFolder()
try {
  for (const [name, run] of chosen) if (!(await run(join(temporary.path, name)))) process.exitCode = 1
} finally {
  temporary.remove()
}
