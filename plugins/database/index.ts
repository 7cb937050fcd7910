import { definePlugin } from 'zin'
import { migrateCommand } from './cli.js'
import { connectionConfigs } from './connections/config.js'
import { databaseService } from './database.js'
import { migrateBeforeStart } from './migrations/gate.js'
import { databaseDefaults, databaseOptions } from './options.js'
import { createDatabase } from './service.js'
import { databaseSettings } from './settings.js'

export type { MigrationCommand } from './cli.js'
export { migrationCommand } from './cli.js'
export type { Database } from './database.js'
export { databaseService } from './database.js'
export type { Index } from './migrations/ensure-index.js'
export { ensureIndex } from './migrations/ensure-index.js'
export type { DatabaseMigration } from './migrations/migration.js'
export { defineMigration } from './migrations/migration.js'
export type { MigrationFilter, MigrationResult, Migrations } from './migrations/migrations.js'
export type { MigrationStatus, RollbackScope } from './migrations/plan.js'
export { useUnicode } from './migrations/use-unicode.js'
export type { DatabaseOptions, RdbConnectionOptions, SqliteConnectionOptions } from './options.js'

/** SQL tables behind Kysely: SQLite in the data directory, or MySQL and MariaDB; and the migrations of all plugins. */
export const database = definePlugin({
  name: 'database',
  version: '0.1.0',
  description: 'SQL tables behind Kysely on SQLite, MySQL or MariaDB, with migrations per plugin',
  provides: [databaseService],
  settings: databaseSettings,
  options: { schema: databaseOptions, defaults: databaseDefaults },
  setup(ctx) {
    const { settings, options, host, clock, log } = ctx
    const configs = connectionConfigs({ settings, options, dataDir: host.app.dataDir, production: host.app.production })
    const service = createDatabase({
      configs,
      clock,
      log,
      known: () => host.migrations(),
      app: { name: host.app.name, renamedFrom: settings.APP_RENAMED_FROM },
      connectTimeoutMs: settings.DB_CONNECT_TIMEOUT_MS,
      acquireTimeoutMs: settings.DB_ACQUIRE_TIMEOUT_MS,
      statementTimeoutMs: settings.DB_STATEMENT_TIMEOUT_MS,
      migrationTimeoutMs: settings.DB_MIGRATION_TIMEOUT_MS,
    })
    ctx.provide(databaseService, service)
    ctx.command(migrateCommand({ migrations: service.migrations, app: host.app }))
    ctx.hooks.on('beforePluginStart', {
      timeoutMs: 600_000,
      handler: async (plugin) => {
        if (!host.migrations().some((entry) => entry.plugin === plugin)) return undefined
        await service.connect()
        return migrateBeforeStart(service.migrations, plugin, settings.DB_MIGRATE)
      },
    })
    ctx.onStart(() => service.connect())
    ctx.onStop(() => service.close())
  },
})
