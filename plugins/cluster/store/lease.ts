import type { LeasedNode, NodeInfo } from '../contract.js'

/** A stored node with its lease, by the clock of the store. */
export function leased(info: string, leaseUntil: number, now: number): LeasedNode {
  return { ...(JSON.parse(info) as NodeInfo), alive: leaseUntil > now, leaseUntil, leaseMs: Math.max(0, leaseUntil - now) }
}
