import type { Command, HostView, PluginReport } from 'zin'
import { type Database, migrationCommand } from 'zin/plugins/database'
import { workerErrors } from './errors.js'

export interface MigrateWorkerDeps {
  readonly app: HostView['app']
  readonly database: Database | undefined
}

/** `zin migrate:worker`: as `zin migrate`, for the tables of the workers. */
export function migrateWorkerCommand({ app, database }: MigrateWorkerDeps): Command {
  return migrationCommand({
    name: 'migrate:worker',
    summary: 'Apply waiting migrations of the workers; show or undo applied ones',
    app,
    scope: { name: 'all', spec: { type: 'boolean', summary: 'Also those of every plugin that depends on workers' } },
    migrations() {
      if (database === undefined)
        throw workerErrors.WORKERS_MISCONFIGURED('the workers have no tables without the plugin database in zin.config.ts')
      return database.migrations
    },
    plugins: ({ all }, host) => (all === true ? ['workers', ...dependentsOf('workers', host.plugins())] : ['workers']),
  })
}

/** Names of the plugins that come after `name`, directly or through others. */
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
