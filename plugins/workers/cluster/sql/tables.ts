import type { Generated } from 'kysely'

/** Times are ms since 1970 by the database's clock. Drivers give bigint columns as number, text or bigint. */
export interface ClusterTables {
  readonly nodes: { readonly id: string; readonly info: string; readonly lease_until: number }
  readonly statuses: {
    readonly worker: string
    readonly node: string
    readonly state: string
    readonly status: string
    readonly reported_at: number
  }
  readonly messages: { readonly id: Generated<number>; readonly body: string; readonly sent_at: number }
  readonly operations: { readonly id: string; readonly worker: string; readonly body: string; readonly saved_at: number }
  readonly totals: CountColumns & { readonly worker: string }
  readonly minutes: CountColumns & { readonly worker: string; readonly minute: number; readonly version: string }
  readonly leaders: { readonly role: string; readonly node: string; readonly epoch: number; readonly lease_until: number }
  readonly revisions: { readonly id: number; readonly revision: number }
}

interface CountColumns {
  readonly completed: number
  readonly failed: number
  readonly lost: number
  readonly total_us: number
}

/** The names that the tables have, typed as what they are called here; a query gives them an alias. */
export type TableNames = { readonly [Table in keyof ClusterTables]: Table }

export function tableNames(prefix: string): TableNames {
  const name = <Table extends keyof ClusterTables>(table: Table): Table => `${prefix}_${table}` as Table
  return {
    nodes: name('nodes'),
    statuses: name('statuses'),
    messages: name('messages'),
    operations: name('operations'),
    totals: name('totals'),
    minutes: name('minutes'),
    leaders: name('leaders'),
    revisions: name('revisions'),
  }
}
