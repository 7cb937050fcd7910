import { defineCommand, type HostView, type Printer } from 'zin'
import { databaseErrors } from './errors.js'
import type { MigrationResult, Migrator } from './migrations/migrator.js'

export interface MigrateCommandDeps {
  readonly migrator: Migrator
  readonly app: HostView['app']
}

/** `zin migrate`: applies, shows and undoes migrations. */
export function migrateCommand({ migrator, app }: MigrateCommandDeps) {
  return defineCommand({
    name: 'migrate',
    summary: 'Apply waiting migrations; show or undo applied ones',
    needs: 'services',
    json: true,
    options: {
      status: { type: 'boolean', summary: 'Show every migration and whether it is applied' },
      rollback: { type: 'boolean', summary: 'Undo the last batch, or the last --step migrations' },
      step: { type: 'int', min: 1, summary: 'How many migrations --rollback undoes' },
      reset: { type: 'boolean', summary: 'Undo every migration' },
      fresh: { type: 'boolean', summary: 'Undo every migration and apply all again' },
      plugin: { type: 'string', summary: 'Only the migrations of this plugin' },
      force: { type: 'boolean', summary: 'Allow --rollback, --reset and --fresh in production' },
    },
    async run({ options, print, host }) {
      const { status, rollback, step, reset, fresh, plugin, force } = options
      const modes = [status && '--status', rollback && '--rollback', reset && '--reset', fresh && '--fresh'].filter(
        (mode) => typeof mode === 'string',
      )
      if (modes.length > 1) throw databaseErrors.MIGRATION_REFUSED(`${modes.join(' and ')} exclude each other; give one`)
      if (step !== undefined && !rollback) throw databaseErrors.MIGRATION_REFUSED('--step goes with --rollback')
      if (plugin !== undefined && !host.plugins().some((one) => one.name === plugin)) {
        throw databaseErrors.MIGRATION_REFUSED(`No plugin is named "${plugin}"; see zin plugins`)
      }
      if ((rollback || reset || fresh) && app.production && !force) {
        throw databaseErrors.MIGRATION_REFUSED(`${modes[0]} loses data; in production add --force if you mean it`)
      }
      if (status) {
        const rows = await migrator.status({ plugin })
        print.table(
          rows.map((row) => ({ ...row, appliedAt: row.appliedAt === null ? null : new Date(row.appliedAt).toISOString() })),
          ['plugin', 'id', 'status', 'batch', 'appliedAt'],
        )
        return 0
      }
      const results: MigrationResult[] = []
      if (rollback) results.push(...(await migrator.down(step === undefined ? 'batch' : { steps: step }, { plugin })))
      if (reset || fresh) results.push(...(await migrator.down('all', { plugin })))
      if (!rollback && !reset && !hasFailed(results)) results.push(...(await migrator.up({ plugin })))
      return report(results, print)
    },
  })
}

function report(results: readonly MigrationResult[], print: Printer): number {
  if (results.length === 0 && !print.json) print.line('Nothing to migrate')
  else
    print.table(
      results.map((result) => ({ ...result })),
      ['plugin', 'id', 'direction', 'status', 'durationMs', 'error'],
    )
  return hasFailed(results) ? 1 : 0
}

function hasFailed(results: readonly MigrationResult[]): boolean {
  return results.some((result) => result.status === 'failed')
}
