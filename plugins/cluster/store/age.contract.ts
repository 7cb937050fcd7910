import { type Kysely, sql } from 'kysely'

/** Ages everything stored, as if `ms` had passed. */
export async function ageCluster(db: Kysely<unknown>, ms: number): Promise<void> {
  for (const [table, column] of [
    ['zin_cluster_nodes', 'lease_until'],
    ['zin_cluster_messages', 'sent_at'],
  ] as const) {
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sql.ref(column)} - ${ms}`.execute(db)
  }
}
