import type { CollectSlot, Logger, PluginHooks, ReadinessReport } from 'zin'
import { messageOf } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import type { HealthOptions } from './options.js'
import type { CheckBoard } from './service.js'

interface OwnParts {
  readonly options: HealthOptions
  readonly settings: { readonly CACHE_DRIVER: string }
  /** Looked up at each run: plugins come and go. */
  readonly services: { readonly database: Database | undefined; readonly kv: Kv | undefined }
  readonly hooks: PluginHooks
  readonly log: Logger
}

/** The spec fixes it. */
const cacheTimeoutMs = 2000
/** A little more than a listener of `collectReadiness` has. */
const pluginsTimeoutMs = 2500

/** The checks of the spec, database and cache, and the answers of plugins that listen to `collectReadiness`. */
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
  if (settings.CACHE_DRIVER === 'kv') {
    if (services.kv === undefined) log.warn('CACHE_DRIVER is kv and no kv plugin is enabled: readiness does not probe a cache')
    board.add(
      { name: 'cache', kind: 'readiness', timeoutMs: cacheTimeoutMs, run: (signal) => services.kv?.ping(signal) ?? null },
      'critical',
    )
  }
  const slot = hooks.slot('collectReadiness')
  board.add({ name: 'plugins', kind: 'readiness', timeoutMs: pluginsTimeoutMs, run: () => askPlugins(slot) }, 'critical')
}

async function pingDatabase(database: Database, signal: AbortSignal): Promise<void> {
  if (!database.connected) await database.connect()
  signal.throwIfAborted()
  await database.ping(signal)
}

async function askPlugins(slot: CollectSlot<[], ReadinessReport>): Promise<null | undefined> {
  if (!slot.active) return null
  const failures = [...(await slot.call())].flatMap(([plugin, report]) => {
    if (report instanceof Error) return [`${plugin}: ${messageOf(report)}`]
    return report.ready ? [] : [`${plugin}: ${report.error ?? 'not ready'}`]
  })
  if (failures.length > 0) throw new Error(failures.join('; '))
  return undefined
}
