import type { Generated } from 'kysely'

/** Times are ms since 1970 by the database's clock. Drivers return bigint columns as number, text or bigint. `cluster`: its name. */
export interface ClusterTables {
  readonly zin_cluster_nodes: { readonly id: string; readonly cluster: string; readonly info: string; readonly lease_until: number }
  readonly zin_cluster_messages: {
    readonly id: Generated<number>
    readonly cluster: string
    readonly body: string
    readonly sent_at: number
  }
  readonly zin_cluster_roles: { readonly cluster: string; readonly role: string; readonly node: string; readonly epoch: number }
  /** Increases with every change of the nodes. */
  readonly zin_cluster_versions: { readonly cluster: string; readonly version: number }
}
