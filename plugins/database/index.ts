import { checkedValue, definePlugin, isUnusedData } from 'zin'
import { backUpTables, checkTables } from './backup.js'
import { migrateCommand } from './cli.js'
import { connectionConfigs, embeddedConfig, type SqliteConfig } from './connections/config.js'
import { databaseService } from './contract.js'
import { databaseErrors } from './errors.js'
import { migrateBeforeStart } from './migrator/gate.js'
import { databaseOptions } from './options.js'
import { databasePackages } from './packages.js'
import { createDatabase } from './service.js'
import { databaseSettings } from './settings.js'
import { storeInfo } from './store-info.js'

export type { MigrationCommand } from './cli.js'
export { migrationCommand } from './cli.js'
export { query, setUpSession } from './connections/mysql-session.js'
export type { OpenSocket } from './connections/mysql-socket.js'
export { discard, openSocket } from './connections/mysql-socket.js'
export type { Database } from './contract.js'
export { databaseService } from './contract.js'
export { isConflict, isUnavailable } from './failures.js'
export type { Index } from './migrator/ensure-index.js'
export { ensureIndex } from './migrator/ensure-index.js'
export type { DatabaseMigration } from './migrator/migration.js'
export { defineMigration } from './migrator/migration.js'
export type { MigrationFilter, MigrationResult, Migrations } from './migrator/migrations.js'
export type { MigrationStatus, RollbackScope } from './migrator/plan.js'
export { useUnicode } from './migrator/use-unicode.js'
export type { ObservedQuery, QueryObserver } from './observers.js'
export type { DatabaseOptions, RdbConnectionOptions, SqliteConnectionOptions } from './options.js'
export { databaseSettings } from './settings.js'
export type { DeleteBefore, SqlTools, UpsertQuery, UpsertRows } from './sql-tools.js'
export { deleteBefore, inList, maxParameters, sqlTools, upsertQueries, upsertRows } from './sql-tools.js'

/** SQL tables through Kysely on SQLite, MySQL or MariaDB, and the migrations of all plugins. */
export const database = definePlugin({
  name: 'database',
  version: '0.1.0',
  description: 'SQL tables through Kysely on SQLite, MySQL or MariaDB, with migrations per plugin',
  provides: [databaseService],
  packages: databasePackages,
  errors: databaseErrors,
  settings: databaseSettings,
  options: databaseOptions,
  setup(ctx) {
    const { settings, options, host, clock, log } = ctx
    const { dataDir, production } = host.app
    const configs = checkedValue(
      ctx,
      () => connectionConfigs({ settings, options, dataDir, production }),
      () => [embeddedConfig(dataDir)] as const,
    )
    const parts = {
      clock,
      log,
      known: () => host.migrations(),
      app: { name: host.app.name, renamedFrom: settings.APP_RENAMED_FROM, runs: host.roles.size > 0 },
      connectTimeoutMs: settings.DB_CONNECT_TIMEOUT_MS,
      acquireTimeoutMs: settings.DB_ACQUIRE_TIMEOUT_MS,
      statementTimeoutMs: settings.DB_STATEMENT_TIMEOUT_MS,
      migrationTimeoutMs: settings.DB_MIGRATION_TIMEOUT_MS,
    }
    const service = createDatabase({ ...parts, configs })
    ctx.provide(databaseService, service)
    ctx.describe(() => service.dialect)
    ctx.command(migrateCommand({ migrations: service.migrations, app: host.app }))
    ctx.hooks.on('beforePluginStart', {
      // A migration may take as long as its statements, and waits up to 5 minutes for another process that migrates.
      timeoutMs: Math.max(600_000, settings.DB_MIGRATION_TIMEOUT_MS + 300_000),
      handler: async (plugin) => {
        if (!host.migrations().some((entry) => entry.plugin === plugin)) return undefined
        await service.connect()
        return migrateBeforeStart(service.migrations, plugin, settings.DB_MIGRATE)
      },
    })
    const backup = { configs, dataDir: host.app.dataDir, make: (config: SqliteConfig) => createDatabase({ ...parts, configs: [config] }) }
    // SQLite can be copied from another process, so the app does not wait for it.
    ctx.hooks.on('collectBackup', (folder) => (host.roles.size > 0 ? { entries: [] } : backUpTables(backup, folder)))
    ctx.hooks.on('checkBackup', (folder) => checkTables(backup, folder))
    const manual = settings.DB_MIGRATE === 'manual'
    const connectTimeoutMs = Math.min(settings.DB_CONNECT_TIMEOUT_MS, 5_000)
    ctx.hooks.on('collectStores', () =>
      configs.map((config) => storeInfo(config, { make: () => createDatabase({ ...parts, connectTimeoutMs, configs: [config] }), manual })),
    )
    ctx.hooks.on('collectData', () => ({
      async open(covered) {
        const [{ driver }] = configs
        if (driver !== 'sqlite' && driver !== 'rdb')
          throw databaseErrors.DATABASE_CONFIG('tables behind a SQL proxy cannot be moved. Connect to the database directly for it')
        const { tablesStore } = await import('./data/store.js')
        return tablesStore({ connection: service.main, migrations: service.migrations, manual, covered })
      },
    }))
    ctx.onStart(async () => {
      const [{ driver }] = configs
      // A process that was killed leaves its last changes in the second file.
      if (host.roles.size > 0 && driver !== 'sqlite' && (await isUnusedData(dataDir, 'app.db', 'app.db-wal'))) {
        log.warn(
          `the tables in ${dataDir}/app.db lie unused, because DB_CONNECTION is ${driver === 'rdb' ? 'rdb' : 'a proxy'}: write them to a file with DB_CONNECTION unset and "zin data:export --out <file>", and to the database with "zin data:import <file> --yes"; or delete them`,
        )
      }
      await service.connect()
    })
    ctx.onStop(() => service.close())
  },
})
