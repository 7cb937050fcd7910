import type { Clock, Logger, Migration } from 'zin'
import { messageOf } from 'zin'
import type { Connection } from '../connections/connection.js'
import { ledger } from './ledger.js'
import type { MigrationFilter, MigrationResult, Migrations } from './migrations.js'
import { type App, claimDatabase } from './owner.js'
import { type AppliedMigration, type KnownMigration, pendingOf, rollbackOf, statusOf, unknownOf } from './plan.js'

export interface MigratorDeps {
  readonly connection: Connection
  /** In the order of application. */
  readonly known: () => readonly { readonly plugin: string; readonly migration: Migration }[]
  /** Default: none, and the database may belong to any app. */
  readonly app?: App | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface Step extends KnownMigration {
  readonly run: Migration | undefined
}

export function createMigrator({ connection, known, app, clock, log }: MigratorDeps): Migrations {
  let queue: Promise<unknown> = Promise.resolve()
  const warned = new Set<string>()
  let claimed = false

  // Plugins start in parallel; their migrations run one after the other.
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    const turn = queue.then(task, task)
    queue = turn.catch(() => undefined)
    return turn
  }

  const stepsOf = ({ plugins }: MigrationFilter): readonly Step[] =>
    known()
      .filter((entry) => plugins?.includes(entry.plugin) !== false)
      .map((entry) => ({ plugin: entry.plugin, id: entry.migration.id, run: entry.migration }))

  const claim = async (): Promise<void> => {
    if (claimed || app === undefined || !connection.shared) return
    await connection.step((db) => claimDatabase(db, app, connection.where))
    claimed = true
  }

  const applied = async ({ plugins }: MigrationFilter): Promise<readonly AppliedMigration[]> => {
    await claim()
    const rows = await connection.step(async (db) => {
      await ledger.create(db)
      return ledger.read(db)
    })
    return rows.filter((row) => plugins?.includes(row.plugin) !== false)
  }

  const warnUnknown = (steps: readonly Step[], rows: readonly AppliedMigration[]): void => {
    const plugins = new Set(steps.map((step) => step.plugin))
    for (const { plugin, id } of unknownOf(steps, rows)) {
      if (!plugins.has(plugin) || warned.has(`${plugin} ${id}`)) continue
      warned.add(`${plugin} ${id}`)
      log.warn({ migration: id, of: plugin }, 'this migration was applied by another version or configuration of the plugin')
    }
  }

  const attempt = async (step: Step, direction: 'up' | 'down', work: () => Promise<boolean>): Promise<MigrationResult | undefined> => {
    const started = clock.monotonic()
    const spent = (): number => Math.round(clock.monotonic() - started)
    try {
      if (!(await work())) return undefined
      log.info({ migration: step.id, of: step.plugin, direction, durationMs: spent() }, 'migrated')
      return { plugin: step.plugin, id: step.id, direction, status: 'done', durationMs: spent() }
    } catch (error) {
      log.error({ migration: step.id, of: step.plugin, direction, reason: messageOf(error) }, 'migration failed')
      return { plugin: step.plugin, id: step.id, direction, status: 'failed', durationMs: spent(), error: messageOf(error) }
    }
  }

  const skipped = ({ plugin, id }: Step, direction: 'up' | 'down'): MigrationResult => ({
    plugin,
    id,
    direction,
    status: 'skipped',
    durationMs: 0,
  })

  const apply = (step: Step, batch: number) =>
    attempt(step, 'up', () =>
      connection.step(async (db) => {
        if (await ledger.has(db, step)) return false
        await step.run?.up(db)
        await ledger.add(db, { plugin: step.plugin, id: step.id, batch, appliedAt: clock.now() })
        return true
      }),
    )

  const undo = (step: Step) =>
    attempt(step, 'down', () =>
      connection.step(async (db) => {
        if (!(await ledger.has(db, step))) return false
        if (!step.run)
          throw new Error(
            `Migration ${step.id} of plugin "${step.plugin}" no longer exists in the code, so it cannot be undone; enable a version of the plugin that includes it`,
          )
        await step.run.down(db)
        await ledger.remove(db, step)
        return true
      }),
    )

  return {
    status: (filter = {}) => inTurn(async () => statusOf(stepsOf(filter), await applied(filter))),

    up: (filter = {}) =>
      inTurn(async () => {
        const steps = stepsOf(filter)
        if (steps.length === 0) return []
        const before = await applied(filter)
        warnUnknown(steps, before)
        // The lock costs a connection: a boot without pending migrations skips it.
        if (pendingOf(steps, before).length === 0) return []
        return connection.exclusive(async () => {
          const rows = await applied({})
          const batch = Math.max(0, ...rows.map((row) => row.batch)) + 1
          const failed = new Set<string>()
          const results: MigrationResult[] = []
          for (const step of pendingOf(steps, rows)) {
            const result = failed.has(step.plugin) ? skipped(step, 'up') : await apply(step, batch)
            if (result?.status === 'failed') failed.add(step.plugin)
            if (result) results.push(result)
          }
          return results
        })
      }),

    undoable: (scope, filter = {}) => inTurn(async () => rollbackOf(stepsOf(filter), await applied(filter), scope)),

    down: (scope, filter = {}) =>
      inTurn(() =>
        connection.exclusive(async () => {
          const steps = stepsOf(filter)
          const results: MigrationResult[] = []
          let failed = false
          for (const row of rollbackOf(steps, await applied(filter), scope)) {
            const step: Step = steps.find((one) => one.plugin === row.plugin && one.id === row.id) ?? {
              plugin: row.plugin,
              id: row.id,
              run: undefined,
            }
            const result = failed ? skipped(step, 'down') : await undo(step)
            if (result?.status === 'failed') failed = true
            if (result) results.push(result)
          }
          return results
        }),
      ),
  }
}
