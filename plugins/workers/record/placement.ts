import { type Check, fieldOf, isIntIn, isObject, problem, unknownKeys } from './problem.js'
import type { Placement, WorkerRecord } from './record.js'

export const regionPattern = /^[a-z0-9-]{3,20}$/

export const checkPlacement: Check = (value) => {
  if (!isObject(value) || unknownKeys(value, ['nodes', 'regions']).length > 0)
    return problem('placement', 'INVALID_PLACEMENT', '"placement" must be {nodes?: "all" or 1 to 1000, regions?: list of region names}')
  const nodes = fieldOf(value, 'nodes')
  if (nodes !== undefined && nodes !== 'all' && !isIntIn(nodes, 1, 1000))
    return problem('placement.nodes', 'INVALID_PLACEMENT', '"placement.nodes" must be "all" or an integer from 1 to 1000')
  const regions = fieldOf(value, 'regions')
  if (regions === undefined) return undefined
  if (!Array.isArray(regions) || !isIntIn(regions.length, 1, 20))
    return problem('placement.regions', 'INVALID_PLACEMENT', '"placement.regions" must be a list of 1 to 20 regions')
  // Array.from, because every() skips holes.
  if (Array.from<unknown>(regions).some((region) => typeof region !== 'string' || !regionPattern.test(region)))
    return problem(
      'placement.regions',
      'INVALID_DATACENTER_REGION',
      '"placement.regions" must contain names of 3 to 20 lower-case letters, digits or "-", such as "eu-west-1"',
    )
  return new Set(regions).size < regions.length
    ? problem('placement.regions', 'INVALID_DATACENTER_TOPOLOGY', '"placement.regions" must name each region once')
    : undefined
}

/** Whether a worker runs on one node at a time, because it has no feature `clustering`. */
export function isAlone({ features }: Pick<WorkerRecord, 'features'>): boolean {
  return features.clustering === false
}

/** The effective placement. */
export function actingPlacement({ features, placement }: Pick<WorkerRecord, 'features' | 'placement'>): Placement {
  return isAlone({ features }) ? { ...placement, nodes: 1 } : placement
}
