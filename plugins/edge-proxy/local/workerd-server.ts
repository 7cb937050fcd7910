import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Miniflare, MiniflareOptions } from 'miniflare'
import type { EdgeSettings } from '../worker/config.js'
import type { LocalServer } from './local-server.js'

export interface WorkerdServerParts {
  /** Entry file of miniflare. */
  readonly miniflare: string
  /** File of the built worker. */
  readonly script: string
  readonly settings: EdgeSettings
  readonly binding: string
  /** Folder of the database. */
  readonly persistTo: string
  readonly host: string
  readonly port: number
}

/** Compatibility date of the workerd runtime that the worker is tested with. */
export const compatibilityDate = '2025-01-01'

/** Returns the entry file of miniflare, installed in the folder or next to Zin; undefined if it is in neither. */
export function findMiniflare(folder: string): string | undefined {
  for (const from of [join(folder, 'package.json'), import.meta.url]) {
    try {
      return createRequire(from).resolve('miniflare')
    } catch {
      // Try the next location.
    }
  }
  return undefined
}

/** Serves the worker in workerd, with a D1 database on disk. */
export async function startWorkerdServer(parts: WorkerdServerParts): Promise<LocalServer> {
  // CommonJS, and not a dependency of Zin.
  const load = createRequire(import.meta.url)
  const { Miniflare: Runtime } = load(parts.miniflare) as { readonly Miniflare: new (options: MiniflareOptions) => Miniflare }
  const bindings = Object.fromEntries(Object.entries(parts.settings).filter(([, value]) => value !== undefined && value !== ''))
  const keepsSignals = withoutNewSignalListeners()
  const runtime = new Runtime({
    modules: true,
    script: readFileSync(parts.script, 'utf8'),
    compatibilityDate,
    bindings,
    d1Databases: { [parts.binding]: 'zin-edge' },
    d1Persist: parts.persistTo,
    host: parts.host,
    port: parts.port,
  })
  try {
    const url = await runtime.ready
    keepsSignals()
    const unwatch = await endWithThisProcess()
    return {
      url: url.origin,
      async close() {
        await runtime.dispose()
        unwatch()
      },
    }
  } catch (error) {
    await runtime.dispose().catch(() => undefined)
    throw error
  }
}

/**
 * Miniflare exits the process on a signal, in the middle of a clean shutdown. Returns a function that removes signal listeners added after
 * this call.
 */
function withoutNewSignalListeners(): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const before = new Map(signals.map((signal) => [signal, process.listeners(signal)]))
  return () => {
    for (const [signal, known] of before)
      for (const listener of process.listeners(signal)) if (!known.includes(listener)) process.off(signal, listener)
  }
}

/**
 * Makes sure that workerd ends when this process is killed: a shell waits for its standard input, a pipe from this process, to close.
 * Returns a function that ends the shell.
 */
async function endWithThisProcess(): Promise<() => void> {
  const pids = process.platform === 'win32' ? [] : await workerdChildren()
  if (pids.length === 0) return () => undefined
  const watch = spawn('sh', ['-c', 'read -r _; kill -9 "$@" 2>/dev/null', 'sh', ...pids], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watch.on('error', () => undefined)
  watch.stdin.on('error', () => undefined)
  watch.unref()
  return () => watch.kill('SIGKILL')
}

async function workerdChildren(): Promise<readonly string[]> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args='])
    const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/))
    return rows.flatMap(([pid, parent, command]) => (parent === `${process.pid}` && command?.includes('workerd') && pid ? [pid] : []))
  } catch {
    return []
  }
}
