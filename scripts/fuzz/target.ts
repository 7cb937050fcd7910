import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type AppProcess, copyExample, type Env, startApp } from '../app-process.js'
import type { Account } from './client.js'

/** Memory after a garbage collection, in MB. */
export interface Memory {
  readonly rss: number
  /** Used heap plus the buffers outside the heap. */
  readonly held: number
}

/** The full example, ready to be fuzzed. */
export interface Target {
  readonly url: string
  readonly account: Account
  memory(): Promise<Memory>
  output(): string
  /** Sends SIGTERM and resolves to the exit code. */
  end(): Promise<number | null>
}

const email = 'demo@example.com'
const password = 'a password for the fuzzer'

/** Starts a copy of examples/full in `folder`, with the parts in `hostile`, and login limits that are too high to affect the run. */
export async function startTarget(folder: string, env: Env): Promise<Target> {
  const app = copyExample('full', folder)
  configure(join(app, 'zin.config.ts'))
  cpSync(join(import.meta.dirname, 'hostile'), app, { recursive: true })
  const file = join(folder, 'memory.json')
  const probe = pathToFileURL(join(import.meta.dirname, 'memory-probe.mjs')).href
  const child = await startApp(app, {
    env: {
      ...env,
      MICROSERVICES: 'true',
      DEMO_PASSWORD: password,
      NODE_OPTIONS: `--import ${probe}`,
      ZIN_FUZZ_MEMORY: file,
      LOG_LEVEL: 'warn',
    },
  })
  return {
    url: child.url,
    account: { email, password },
    memory: () => readMemory(child, file),
    output: () => child.output(),
    end: () => child.end('SIGTERM'),
  }
}

function configure(config: string): void {
  const names = ['attemptsPerMinute', 'attemptsPerHour', 'addressAttemptsPerMinute', 'addressAttemptsPerHour', 'accountAttemptsPerMinute']
  const service = "microservices({ services: { 'fuzz-says': { process: 'own' } } })"
  const changes = [
    ['login({', `login({ ${names.map((name) => `${name}: 1_000_000`).join(', ')},`],
    ["from 'zin/plugins'", "from 'zin/plugins'\nimport { fuzz } from './fuzz/index.js'\nimport { microservices } from 'zin/plugins'"],
    ['webConsole(),\n', `webConsole(), ${service}, fuzz(),\n`],
  ] as const
  let text = readFileSync(config, 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`${config} no longer contains ${from}`)
    text = text.replace(from, to)
  }
  writeFileSync(config, text)
}

async function readMemory(app: AppProcess, file: string): Promise<Memory> {
  rmSync(file, { force: true })
  process.kill(app.pid, 'SIGUSR2')
  while (!existsSync(file)) await delay(20)
  const { rss, heapUsed, external } = JSON.parse(readFileSync(file, 'utf8')) as NodeJS.MemoryUsage
  return { rss: megabytes(rss), held: megabytes(heapUsed + external) }
}

const megabytes = (bytes: number): number => Math.round(bytes / 104_857.6) / 10
