import type { Placement } from '../record/record.js'
import type { NodeStatus, WorkerNodeInfo } from './contract.js'

/** Whether a process could not start a worker that it was chosen for: it FAILED, was denied, or is trying again. */
export function couldNotStart({ state, error }: Pick<NodeStatus, 'state' | 'error'>): boolean {
  return error !== undefined && (state === 'FAILED' || state === 'starting' || state === 'stopped')
}

const none: ReadonlySet<string> = new Set()

/**
 * Ids of the nodes that should run a worker: live ones that consume jobs and whose region matches, all of them or the first so
 * many. Every node computes the same from the same nodes, and a node that joins or leaves moves only its own share. The order
 * is that of a rolling activation.
 *
 * @param failing processes that could not start it: of so many, they come last.
 */
export function placementOf(
  placement: Placement,
  worker: string,
  nodes: readonly WorkerNodeInfo[],
  failing: ReadonlySet<string> = none,
): readonly string[] {
  const { regions, nodes: wanted } = placement
  const ordered = nodes
    .filter((node) => node.alive && node.consumes && (regions === undefined || regions.includes(node.region)))
    .map(({ id }) => ({ id, weight: weightOf(`${worker}\n${id}`) }))
    .sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id)
  if (wanted === 'all') return ordered
  return [...ordered.filter((id) => !failing.has(id)), ...ordered.filter((id) => failing.has(id))].slice(0, wanted)
}

/** A number from 0 to 2^32 that any change of the text changes completely: FNV-1a, finished as MurmurHash3 does. */
function weightOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
