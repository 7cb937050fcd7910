import type { KnownMigration, MigrationStatus, RollbackScope } from './plan.js'

export interface MigrationResult extends KnownMigration {
  readonly direction: 'up' | 'down'
  /** `skipped`: not tried, because an earlier one of the same plugin failed. */
  readonly status: 'done' | 'failed' | 'skipped'
  readonly durationMs: number
  readonly error?: string
}

/** All of them, or those of some plugins. */
export interface MigrationFilter {
  readonly plugins?: readonly string[] | undefined
}

/** The migrations of an app: what the code knows, and what is applied. */
export interface Migrations {
  status(filter?: MigrationFilter): Promise<readonly MigrationStatus[]>
  /** Applies what is pending. A failed one ends its plugin's turn and is in the results; other plugins go on. */
  up(filter?: MigrationFilter): Promise<readonly MigrationResult[]>
  /** What {@link Migrations.down} would undo, in its order. */
  undoable(scope: RollbackScope, filter?: MigrationFilter): Promise<readonly KnownMigration[]>
  /** Undoes applied ones, newest first; a failed one ends the rollback. */
  down(scope: RollbackScope, filter?: MigrationFilter): Promise<readonly MigrationResult[]>
}
