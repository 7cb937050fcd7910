import type { Clock, Logger } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { NodeInfo } from '../../contract.js'
import type { ClusterStore, Envelope, NodeList, Renewal, StoreListener } from '../contract.js'
import { SqlConnection } from './connection.js'
import { SqlMessages } from './messages.js'
import { SqlNodes } from './nodes.js'
import { SqlRoles } from './roles.js'

export interface SqlStoreOptions {
  readonly database: Database
  /** Name of the cluster. */
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
}

/** The cluster on a SQL database: leases by its clock, and messages as rows that are polled. */
export function sqlStore({ database, name, clock, log }: SqlStoreOptions): ClusterStore {
  const connection = new SqlConnection(database, name)
  const messages = new SqlMessages(connection, clock, log)
  const nodes = new SqlNodes(connection, messages)
  const roles = new SqlRoles(connection, messages)
  return {
    kind: 'sql',
    open: async (listener: StoreListener) => messages.open(listener),
    close: () => messages.close(),
    renew: (node: NodeInfo, leaseMs: number, changed: boolean): Promise<Renewal> => nodes.renew(node, leaseMs, changed),
    leave: (node) => nodes.leave(node),
    read: (): Promise<NodeList> => nodes.read(),
    publish: (message: Envelope) => messages.send(message),
    acquire: (role, node) => roles.acquire(role, node),
    epoch: (role) => roles.epoch(role),
    release: (role, node, forget) => roles.release(role, node, forget),
    async sweep() {
      await nodes.sweep()
      await messages.sweep()
    },
    isUnavailable: (error) => connection.isUnavailable(error),
  }
}
