import { type Command, type CommandContext, defineCommand, type HostView, type OptionSpec, type OptionSpecs, type Printer } from 'zin'
import { databaseErrors } from './errors.js'
import type { MigrationResult, Migrations } from './migrator/migrations.js'
import type { KnownMigration } from './migrator/plan.js'

export interface MigrateCommandDeps {
  readonly migrations: Migrations
  readonly app: HostView['app']
}

/** `zin migrate`: applies, shows and undoes migrations. */
export function migrateCommand({ migrations, app }: MigrateCommandDeps): Command {
  return migrationCommand({
    name: 'migrate',
    summary: 'Apply pending migrations; show or undo applied ones',
    app,
    scope: { name: 'plugin', spec: { type: 'string', summary: 'Only the migrations of this plugin' } },
    migrations: () => migrations,
    plugins({ plugin }, host) {
      if (typeof plugin !== 'string') return undefined
      if (host.plugins().some((one) => one.name === plugin)) return [plugin]
      throw databaseErrors.MIGRATION_REFUSED(`No plugin is named "${plugin}"; see zin plugins`)
    },
  })
}

export interface MigrationCommand {
  readonly name: string
  readonly summary: string
  readonly app: HostView['app']
  /** The option that selects the plugins. */
  readonly scope: { readonly name: string; readonly spec: OptionSpec }
  /** Called when the command runs; may throw. */
  migrations(): Migrations
  /** The selected plugins; undefined: all. */
  plugins(options: Readonly<Record<string, unknown>>, host: HostView): readonly string[] | undefined
}

const modes = ['status', 'rollback', 'reset', 'fresh'] as const

/**
 * Creates a command with the options of `zin migrate` for the migrations of some plugins. It starts only the database, so
 * it works while migrations are pending and while the app runs.
 */
export function migrationCommand({ name, summary, app, scope, migrations, plugins }: MigrationCommand): Command {
  const specs = {
    status: { type: 'boolean', summary: 'Show every migration and whether it is applied' },
    rollback: { type: 'boolean', summary: 'Undo the last batch, or the last --step migrations' },
    step: { type: 'int', min: 1, summary: 'How many migrations --rollback undoes' },
    reset: { type: 'boolean', summary: 'Undo every migration' },
    fresh: { type: 'boolean', summary: 'Undo every migration and apply all again' },
    force: { type: 'boolean', summary: 'Allow --rollback, --reset and --fresh in production' },
  } as const satisfies OptionSpecs
  const run = async ({ options, print, host, confirm }: CommandContext<typeof specs>): Promise<number> => {
    const { status, rollback, step, reset, fresh, force } = options
    const chosen = modes.filter((mode) => options[mode]).map((mode) => `--${mode}`)
    if (chosen.length > 1) throw databaseErrors.MIGRATION_REFUSED(`${chosen.join(' and ')} are mutually exclusive; pass one`)
    if (step !== undefined && !rollback) throw databaseErrors.MIGRATION_REFUSED('--step requires --rollback')
    const filter = { plugins: plugins(options, host) }
    if ((rollback || reset || fresh) && app.production && !force) {
      throw databaseErrors.MIGRATION_REFUSED(`${chosen[0]} deletes data; in production, confirm with --force`)
    }
    const history = migrations()
    if (status) {
      const rows = await history.status(filter)
      print.table(
        rows.map((row) => ({ ...row, appliedAt: row.appliedAt === null ? null : new Date(row.appliedAt).toISOString() })),
        ['plugin', 'id', 'status', 'batch', 'appliedAt'],
      )
      return 0
    }
    const results: MigrationResult[] = []
    if (rollback || reset || fresh) {
      const scope = !rollback ? 'all' : step === undefined ? 'batch' : { steps: step }
      const undone = await history.undoable(scope, filter)
      if (undone.length > 0)
        await confirm(`${chosen[0]} undoes ${undone.length} migration(s) and drops their tables with all rows: ${namesOf(undone)}`)
      results.push(...(await print.waiting('the migration lock, or a migration', history.down(scope, filter))))
    }
    if (!rollback && !reset && !hasFailed(results))
      results.push(...(await print.waiting('the migration lock, or a migration', history.up(filter))))
    return report(results, print)
  }
  return defineCommand({
    name,
    summary,
    needs: 'services',
    starts: ['database'],
    json: true,
    confirms: true,
    options: { ...specs, [scope.name]: scope.spec },
    run: (context) => run(context as unknown as CommandContext<typeof specs>),
  })
}

/** `kv 0001_create_kv, login 0001_create_users` */
function namesOf(migrations: readonly KnownMigration[]): string {
  return migrations.map(({ plugin, id }) => `${plugin} ${id}`).join(', ')
}

function report(results: readonly MigrationResult[], print: Printer): number {
  if (results.length === 0 && !print.json) print.line('Nothing to migrate')
  else print.table(results, ['plugin', 'id', 'direction', 'status', 'durationMs', 'error'])
  return hasFailed(results) ? 1 : 0
}

function hasFailed(results: readonly MigrationResult[]): boolean {
  return results.some((result) => result.status === 'failed')
}
