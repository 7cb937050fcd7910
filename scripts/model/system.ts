import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AppProcess, type Env, linkPackages, startApp, temporaryFolder } from '../app-process.js'

/** What a processor wrote when an attempt began and ended. */
export interface LedgerLine {
  /** Of the data of the job. */
  readonly key: string
  readonly phase: 'start' | 'done' | 'failed'
  readonly pid: number
}

export interface Reply {
  /** 0: no response, so that the outcome is unknown. */
  readonly status: number
  // The bodies of many routes.
  // biome-ignore lint/suspicious/noExplicitAny: read by field
  readonly body: any
}

/** An app of one or more processes, whose processors write each attempt to a file. */
export interface System {
  readonly nodes: number
  /** Sends a request to a process; those that do not run are replaced by the next one. */
  call(method: string, path: string, body?: unknown, node?: number): Promise<Reply>
  /** Ends a process by the signal, and starts it again. Resolves to the exit code. */
  restart(node: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
  /** The attempts of a queue, in the order in which they were written. */
  ledger(queue: string): readonly LedgerLine[]
  /** The output of all processes so far. */
  output(): string
  stop(): Promise<void>
}

const config = `
import { defineConfig } from 'zin'
import { cluster, database, decisions, health, kv, ops, queueMonitor, queues, workers } from 'zin/plugins'

export default defineConfig({
  plugins: [database(), kv(), cluster(), ops(), queues(), decisions(), workers(), health(), queueMonitor()],
})
`

/** Appends are atomic: the lines are short. */
const processor = `
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export const ZinTrustProcessor = async (job, token, signal) => {
  const { key, ms, failures } = job.data
  const file = join(process.env.MODEL_LEDGER, job.queueName + '.ndjson')
  const note = (phase) => appendFileSync(file, JSON.stringify({ key, phase, pid: process.pid }) + '\\n')
  note('start')
  try {
    if (ms > 0) await delay(ms, undefined, { signal })
    if (job.attemptsMade < failures) throw new Error('planned failure of ' + key)
  } catch (error) {
    note('failed')
    throw error
  }
  note('done')
  return key
}
`

/** Starts the app in a folder of its own. */
export async function startSystem(nodes: number, env: Env): Promise<System> {
  const folder = temporaryFolder()
  const app = join(folder.path, 'app')
  const ledgers = join(folder.path, 'ledger')
  mkdirSync(join(app, 'processors'), { recursive: true })
  mkdirSync(ledgers)
  writeFileSync(join(app, 'package.json'), '{ "type": "module", "private": true }')
  writeFileSync(join(app, 'zin.config.ts'), config)
  writeFileSync(join(app, 'processors/run.mjs'), processor)
  linkPackages(app)
  const start = (): Promise<AppProcess> =>
    startApp(app, {
      env: {
        APP_NAME: 'model',
        APP_KEY: 'k'.repeat(32),
        MODEL_LEDGER: ledgers,
        WORKER_AUTO_START: 'true',
        WORKER_PERSISTENCE_DRIVER: 'db',
        QUEUE_FSYNC: 'off',
        LOG_LEVEL: 'info',
        LOG_FORMAT: 'json',
        ...env,
      },
    })
  const running: (AppProcess | undefined)[] = []
  let ended = ''
  try {
    for (let node = 0; node < nodes; node++) running.push(await start())
  } catch (error) {
    for (const one of running) await one?.end('SIGKILL')
    folder.remove()
    throw error
  }
  return {
    nodes,
    async call(method, path, body, node = 0) {
      const target = running[node % nodes] ?? running.find((one) => one !== undefined)
      if (target === undefined) return { status: 0, body: {} }
      try {
        const response = await fetch(`${target.url}${path}`, {
          method,
          signal: AbortSignal.timeout(45_000),
          headers: { 'x-requested-with': 'model', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        return { status: response.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : {} }
      } catch (error) {
        return { status: 0, body: { message: String(error) } }
      }
    },
    async restart(node, signal) {
      const one = running[node % nodes]
      if (one === undefined) return 0
      running[node % nodes] = undefined
      const code = await one.end(signal)
      ended += one.output()
      running[node % nodes] = await start()
      return code
    },
    ledger(queue) {
      try {
        const lines = readFileSync(join(ledgers, `${queue}.ndjson`), 'utf8').split('\n')
        return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LedgerLine)
      } catch {
        return []
      }
    },
    output: () => ended + running.map((one) => one?.output() ?? '').join(''),
    async stop() {
      for (const one of running) await one?.end('SIGTERM')
      if (process.env.MODEL_KEEP)
        cpSync(folder.path, process.env.MODEL_KEEP, { recursive: true, filter: (path) => !path.includes('node_modules') })
      folder.remove()
    },
  }
}
