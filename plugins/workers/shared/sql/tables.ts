/**
 * `worker` is a name in `statuses` and `changes`, and an id elsewhere. Times are ms since 1970 by the clock of the database. Drivers return
 * bigint columns as number, string or bigint.
 */
export interface StateTables {
  readonly statuses: {
    readonly worker: string
    readonly node: string
    readonly state: string
    readonly status: string
    readonly reported_at: number
  }
  readonly operations: { readonly id: string; readonly worker: string; readonly body: string; readonly saved_at: number }
  readonly totals: CountColumns & { readonly worker: string }
  readonly minutes: CountColumns & { readonly worker: string; readonly minute: number; readonly version: string }
  /** Attempts per minute and bucket of run time. */
  readonly durations: {
    readonly worker: string
    readonly minute: number
    readonly version: string
    readonly bucket: number
    readonly attempts: number
  }
  /** The revision of the last change of each worker. */
  readonly changes: { readonly worker: string; readonly revision: number; readonly changed_at: number }
  /** One row: the newest revision. */
  readonly revisions: { readonly id: number; readonly revision: number }
}

export interface CountColumns {
  readonly completed: number
  readonly failed: number
  readonly lost: number
  readonly timed_out: number
  readonly cancelled: number
  readonly total_us: number
}

/** The actual names of the tables, typed as their keys in {@link StateTables}. */
export type TableNames = { readonly [Table in keyof StateTables]: Table }

export function tableNames(prefix: string): TableNames {
  const name = <Table extends keyof StateTables>(table: Table): Table => `${prefix}_${table}` as Table
  return {
    statuses: name('statuses'),
    operations: name('operations'),
    totals: name('totals'),
    minutes: name('minutes'),
    durations: name('durations'),
    changes: name('changes'),
    revisions: name('revisions'),
  }
}
