import { Type } from 'zin'

const region = Type.String({ pattern: '^[a-z0-9-]{3,20}$', description: 'As WORKER_REGION of its processes' })

/** Where a worker runs, and where it goes when that is lost, in order. */
export const topologySchema = Type.Object(
  { primary: region, secondaries: Type.Array(region, { minItems: 1, maxItems: 19 }) },
  { additionalProperties: false },
)

export interface Topology {
  readonly primary: string
  readonly secondaries: readonly string[]
}

/** What is wrong with a topology whose names are well-formed; undefined: nothing. */
export function topologyProblem({ primary, secondaries }: Topology): string | undefined {
  if (secondaries.includes(primary)) return `the primary region "${primary}" must not be one of the secondaries`
  const twice = secondaries.find((name, index) => secondaries.indexOf(name) !== index)
  return twice === undefined ? undefined : `the secondary region "${twice}" must be named once`
}
