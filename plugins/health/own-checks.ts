import type { CollectSlot, Logger, PluginHooks, ReadinessReport } from 'zin'
import { messageOf } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
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
        if (fault === 'unreachable' && checksWrites) throw new Error('not checked: the database cannot be reached')
        checksWrites ||= fault === undefined
        return fault === undefined ? undefined : null
      },
    },
    'warn',
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

/** Rejects if the database refuses writes. Null: it cannot tell. That it cannot be reached is the subject of the check `database`. */
async function checkWrites(database: Database | undefined, signal: AbortSignal): Promise<null | undefined | 'unreachable'> {
  if (database === undefined) return null
  if (!database.connected) return 'unreachable'
  const fault = await database.writeFault(signal).catch(() => 'unreachable' as const)
  if (typeof fault === 'string' && fault !== 'unreachable') throw new Error(fault)
  return fault
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
