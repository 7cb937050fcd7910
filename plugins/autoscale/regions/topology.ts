import { Type } from 'zin'

const region = Type.String({ pattern: '^[a-z0-9-]{3,20}$', description: 'Matches WORKER_REGION of its processes' })

/** The region in which a worker runs, and its fallbacks in order. */
export const topologySchema = Type.Object(
  { primary: region, secondaries: Type.Array(region, { minItems: 1, maxItems: 19 }) },
  { additionalProperties: false },
)

export interface Topology {
  readonly primary: string
  readonly secondaries: readonly string[]
}

/** Returns the problem of a topology with well-formed names, or undefined. */
export function topologyProblem({ primary, secondaries }: Topology): string | undefined {
  if (secondaries.includes(primary)) return `the primary region "${primary}" must not be one of the secondaries`
  const twice = secondaries.find((name, index) => secondaries.indexOf(name) !== index)
  return twice === undefined ? undefined : `the secondary region "${twice}" must be listed only once`
}
