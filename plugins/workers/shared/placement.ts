import type { Placement } from '../record/record.js'
import type { NodeStatus, WorkerNodeInfo } from './contract.js'

/** Whether a node could not start a worker: it has failed, was denied, or is being retried. */
export function couldNotStart({ state, error }: Pick<NodeStatus, 'state' | 'error'>): boolean {
  return error !== undefined && (state === 'FAILED' || state === 'starting' || state === 'stopped')
}

/** Whether a worker may run on a node. */
export function isEligible({ regions }: Placement, { alive, consumes, draining, region }: WorkerNodeInfo): boolean {
  return alive && consumes && !draining && (regions === undefined || regions.includes(region))
}

const none: ReadonlySet<string> = new Set()

/**
 * Returns the ids of the nodes that should run a worker: live nodes that consume jobs, do not drain and are in a matching region, all of them
 * or the first ones up to the number in the placement. Every node computes the same result from the same nodes, and a node that joins or leaves
 * moves only its own share. The order is that of a rollout.
 *
 * @param failing nodes that could not start the worker; if the placement limits the number of nodes, they come last.
 */
export function placementOf(
  placement: Placement,
  worker: string,
  nodes: readonly WorkerNodeInfo[],
  failing: ReadonlySet<string> = none,
): readonly string[] {
  const { nodes: wanted } = placement
  const ordered = nodes
    .filter((node) => isEligible(placement, node))
    .map(({ id }) => ({ id, weight: weightOf(`${worker}\n${id}`) }))
    .sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id)
  if (wanted === 'all') return ordered
  return [...ordered.filter((id) => !failing.has(id)), ...ordered.filter((id) => failing.has(id))].slice(0, wanted)
}

/** Returns a 32-bit hash: FNV-1a with the finalizer of MurmurHash3, so that similar texts have unrelated weights. */
function weightOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
