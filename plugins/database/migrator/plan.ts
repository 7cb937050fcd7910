/** A migration in the code. */
export interface KnownMigration {
  readonly plugin: string
  readonly id: string
}

/** A row of the ledger. */
export interface AppliedMigration extends KnownMigration {
  readonly batch: number
  /** ms since 1970. */
  readonly appliedAt: number
}

export interface MigrationStatus extends KnownMigration {
  /** `unknown`: applied, but no longer in the code. */
  readonly status: 'applied' | 'pending' | 'unknown'
  readonly batch: number | null
  readonly appliedAt: number | null
}

/** What to undo: the last batch, the last `steps` migrations, or all. */
export type RollbackScope = 'batch' | 'all' | { readonly steps: number }

/** Migrations in the code that are missing in the ledger, in the order given. */
export function pendingOf<K extends KnownMigration>(known: readonly K[], applied: readonly KnownMigration[]): readonly K[] {
  const done = new Set(applied.map(keyOf))
  return known.filter((migration) => !done.has(keyOf(migration)))
}

/** Rows of the ledger without a migration in the code. */
export function unknownOf(known: readonly KnownMigration[], applied: readonly AppliedMigration[]): readonly AppliedMigration[] {
  return pendingOf(applied, known)
}

/** One row per migration: those in the code in their order, then those only in the ledger. */
export function statusOf(known: readonly KnownMigration[], applied: readonly AppliedMigration[]): readonly MigrationStatus[] {
  const rows = new Map(applied.map((row) => [keyOf(row), row]))
  const fromCode = known.map(({ plugin, id }): MigrationStatus => {
    const row = rows.get(keyOf({ plugin, id }))
    return { plugin, id, status: row ? 'applied' : 'pending', batch: row?.batch ?? null, appliedAt: row?.appliedAt ?? null }
  })
  const fromLedger = unknownOf(known, applied).map((row): MigrationStatus => ({ ...row, status: 'unknown' }))
  return [...fromCode, ...fromLedger]
}

/** The rows that a rollback undoes, newest first. */
export function rollbackOf(
  known: readonly KnownMigration[],
  applied: readonly AppliedMigration[],
  scope: RollbackScope,
): readonly AppliedMigration[] {
  const place = new Map(known.map((migration, index) => [keyOf(migration), index]))
  const placeOf = (row: AppliedMigration): number => place.get(keyOf(row)) ?? -1
  const newestFirst = [...applied].sort(
    (a, b) => b.batch - a.batch || b.appliedAt - a.appliedAt || placeOf(b) - placeOf(a) || (b.id < a.id ? -1 : 1),
  )
  if (scope === 'all') return newestFirst
  if (scope === 'batch') return newestFirst.filter((row) => row.batch === newestFirst[0]?.batch)
  return newestFirst.slice(0, scope.steps)
}

function keyOf({ plugin, id }: KnownMigration): string {
  return `${plugin}\0${id}`
}
