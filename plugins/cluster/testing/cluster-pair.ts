import { randomUUID } from 'node:crypto'
import { systemClock } from 'zin'
import { memoryLogger } from 'zin/testing'
import { createCluster, type OwnedCluster } from '../service.js'
import type { ClusterStore } from '../store/contract.js'

export const silentLog = memoryLogger()

/** Leases in tests last an hour without a heartbeat. */
export const leaseMs = 3_600_000

export interface OpenOptions {
  readonly id?: string
  readonly leaseMs?: number
}

/** A node for a test; it sends heartbeats only when the test calls `heartbeat`. */
export async function openNode(store: ClusterStore, { id = `node-${randomUUID()}`, ...options }: OpenOptions = {}): Promise<OwnedCluster> {
  const node = { id, host: 'host', pid: 1, startedAt: 1_900_000_000_123 }
  const cluster = createCluster({ store, node, clock: systemClock, log: silentLog, leaseMs, ...options })
  await cluster.open()
  return cluster
}
