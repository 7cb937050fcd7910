import type { KnownMigration, MigrationStatus, RollbackScope } from './plan.js'

export interface MigrationResult extends KnownMigration {
  readonly direction: 'up' | 'down'
  /** `skipped`: an earlier migration of the same plugin failed. */
  readonly status: 'done' | 'failed' | 'skipped'
  readonly durationMs: number
  readonly error?: string
}

/** Selects all migrations, or those of some plugins. */
export interface MigrationFilter {
  readonly plugins?: readonly string[] | undefined
}

/** The migrations of an app: those in the code and those applied. */
export interface Migrations {
  status(filter?: MigrationFilter): Promise<readonly MigrationStatus[]>
  /** Applies pending migrations. After a failure the rest of its plugin is skipped; other plugins continue. */
  up(filter?: MigrationFilter): Promise<readonly MigrationResult[]>
  /** The migrations that {@link Migrations.down} would undo, in that order. */
  undoable(scope: RollbackScope, filter?: MigrationFilter): Promise<readonly KnownMigration[]>
  /** Undoes applied migrations, newest first; a failure ends the rollback. */
  down(scope: RollbackScope, filter?: MigrationFilter): Promise<readonly MigrationResult[]>
}
