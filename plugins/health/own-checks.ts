import type { CollectSlot, Logger, PluginHooks, ReadinessReport } from 'zin'
import { messageOf } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import type { HealthMeasurement } from './contract.js'
import type { HealthOptions } from './options.js'
import type { CheckBoard } from './service.js'

interface OwnParts {
  readonly options: HealthOptions
  readonly settings: { readonly CACHE_DRIVER: string }
  /** Looked up on each run, because plugins can be enabled and disabled. */
  readonly services: { readonly database: Database | undefined; readonly kv: Kv | undefined }
  readonly hooks: PluginHooks
  readonly log: Logger
}

/** Set by the specification. */
const cacheTimeoutMs = 2000
/** Slightly more than the timeout of a `collectReadiness` listener. */
const pluginsTimeoutMs = 2500

/** The checks of the specification (database and cache), and the reports of `collectReadiness`. */
export function addOwnChecks(board: CheckBoard, { options, settings, services, hooks, log }: OwnParts): void {
  board.add(
    {
      name: 'database',
      kind: 'readiness',
      timeoutMs: options.databaseTimeoutMs,
      run: (signal) => (services.database === undefined ? null : pingDatabase(services.database, signal)),
    },
    options.database,
  )
  let checksWrites = false
  board.add(
    {
      name: 'database-writes',
      kind: 'readiness',
      timeoutMs: options.databaseTimeoutMs,
      async run(signal) {
        const fault = await checkWrites(services.database, signal)
        // Whoever watches this check must not take its absence for good news.
        if (fault === 'unreachable' && checksWrites) return warning('not checked: the database cannot be reached')
        checksWrites ||= fault === undefined
        return fault === 'unreachable' ? null : fault
      },
    },
    options.database,
  )
  if (settings.CACHE_DRIVER === 'kv') {
    if (services.kv === undefined) log.warn('CACHE_DRIVER is kv and no kv plugin is enabled: readiness does not check a cache')
    board.add(
      { name: 'cache', kind: 'readiness', timeoutMs: cacheTimeoutMs, run: (signal) => services.kv?.ping(signal) ?? null },
      'critical',
    )
  }
  const slot = hooks.slot('collectReadiness')
  board.add({ name: 'plugins', kind: 'readiness', timeoutMs: pluginsTimeoutMs, run: () => runCollectReadiness(slot) }, 'critical')
}

async function pingDatabase(database: Database, signal: AbortSignal): Promise<void> {
  if (!database.connected) await database.connect()
  signal.throwIfAborted()
  await database.ping(signal)
}

/**
 * Rejects if the disk of a SQLite file is full: this is the only process that uses it. A server that refuses writes only warns, because it
 * does so for all processes, which can read. Null: there is no database. That it cannot be reached is the subject of the check `database`.
 */
async function checkWrites(
  database: Database | undefined,
  signal: AbortSignal,
): Promise<HealthMeasurement | null | undefined | 'unreachable'> {
  if (database === undefined) return null
  if (!database.connected) return 'unreachable'
  const fault = await database.writeFault(signal).catch(() => 'unreachable' as const)
  if (fault === undefined || fault === 'unreachable') return fault
  if (database.dialect === 'sqlite') throw new Error(fault)
  return warning(fault)
}

function warning(problem: string): HealthMeasurement {
  return { name: 'responseTime', value: 0, unit: 'ms', problem, warns: true }
}

async function runCollectReadiness(slot: CollectSlot<[], ReadinessReport>): Promise<null | undefined> {
  if (!slot.active) return null
  const failures = [...(await slot.call())].flatMap(([plugin, report]) => {
    if (report instanceof Error) return [`${plugin}: ${messageOf(report)}`]
    if (!isReport(report)) return [`${plugin}: its listener of collectReadiness must return {ready: true or false}`]
    return report.ready ? [] : [`${plugin}: ${report.error ?? 'not ready'}`]
  })
  if (failures.length > 0) throw new Error(failures.join('; '))
  return undefined
}

/** Plugins in JavaScript may return anything. */
function isReport(report: unknown): report is ReadinessReport {
  return typeof report === 'object' && report !== null && 'ready' in report && typeof report.ready === 'boolean'
}
