import type { Command, HostView, PluginReport } from 'zin'
import { type Database, migrationCommand } from 'zin/plugins/database'
import { workerErrors } from './errors.js'

export interface MigrateWorkerDeps {
  readonly app: HostView['app']
  readonly database: Database | undefined
}

/** `zin migrate:worker`: like `zin migrate`, for the worker tables. */
export function migrateWorkerCommand({ app, database }: MigrateWorkerDeps): Command {
  return migrationCommand({
    name: 'migrate:worker',
    summary: 'Apply pending migrations of the worker tables; show or revert applied ones',
    app,
    scope: { name: 'all', spec: { type: 'boolean', summary: 'Include every plugin that depends on workers' } },
    migrations() {
      if (database === undefined)
        throw workerErrors.WORKERS_MISCONFIGURED('worker tables need the plugin database; add database() to plugins in zin.config.ts')
      return database.migrations
    },
    plugins: ({ all }, host) => (all === true ? ['workers', ...dependentsOf('workers', host.plugins())] : ['workers']),
  })
}

/** Names of the plugins that depend on `name`, directly or transitively. */
export function dependentsOf(name: string, plugins: readonly Pick<PluginReport, 'name' | 'after'>[]): readonly string[] {
  const found = new Set<string>()
  const visit = (before: string): void => {
    for (const plugin of plugins) {
      if (!plugin.after.includes(before) || found.has(plugin.name)) continue
      found.add(plugin.name)
      visit(plugin.name)
    }
  }
  visit(name)
  return [...found]
}
