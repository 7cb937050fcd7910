import { type Static, Type } from 'zin'
import { defineWorkerFeature, type WorkerFeature } from 'zin/plugins/workers'
import { topologyProblem, topologySchema } from './regions/topology.js'

const schema = Type.Object(
  {
    enabled: Type.Boolean({ default: true, description: 'If false, the worker is not scaled' }),
    minWorkers: Type.Integer({ minimum: 1, maximum: 1000, default: 1, description: 'Minimum number of workers' }),
    maxWorkers: Type.Integer({ minimum: 1, maximum: 1000, default: 4, description: 'Maximum number of workers' }),
    scaleUpThreshold: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      default: 100,
      description: 'Jobs in the queue above which a worker is added immediately',
    }),
    scaleDownThreshold: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      default: 10,
      description: 'Jobs in the queue up to which workers may be removed',
    }),
    evaluationInterval: Type.Optional(
      Type.Integer({ minimum: 1000, maximum: 3_600_000, description: 'ms between two evaluations. Default: WORKER_AUTO_SCALING_INTERVAL' }),
    ),
    regions: Type.Optional(topologySchema),
  },
  { additionalProperties: false },
)

/** The scaling configuration of a worker, from `extensions.autoscale`. */
export type AutoScalerConfig = Static<typeof schema>

const declared = defineWorkerFeature({ plugin: 'autoscale', feature: 'autoScaling', schema })

/** The feature `autoScaling`, with its extension of the worker record. */
export const autoScaling: WorkerFeature<AutoScalerConfig> = {
  ...declared,
  parse(data) {
    const parsed = declared.parse(data)
    if ('problems' in parsed) return parsed
    const problems = problemsOf(parsed.data)
    return problems.length === 0 ? parsed : { problems }
  },
}

/** The feature `datacenter`: the worker moves between regions. */
export const datacenter = defineWorkerFeature({ plugin: 'autoscale', feature: 'datacenter' })

function problemsOf({ maxWorkers, minWorkers, regions, scaleDownThreshold, scaleUpThreshold }: AutoScalerConfig) {
  const wrong = (field: string, message: string, code = 'INVALID_EXTENSION') => {
    const path = `extensions.autoscale.${field}`
    return { field: path, code, message: `"${path}" ${message}` }
  }
  const topology = regions === undefined ? undefined : topologyProblem(regions)
  return [
    ...(minWorkers > maxWorkers ? [wrong('minWorkers', `must be at most maxWorkers, which is ${maxWorkers}`)] : []),
    ...(scaleDownThreshold > scaleUpThreshold
      ? [wrong('scaleDownThreshold', `must be at most scaleUpThreshold, which is ${scaleUpThreshold}`)]
      : []),
    ...(topology === undefined ? [] : [wrong('regions', `is invalid: ${topology}`, 'INVALID_DATACENTER_TOPOLOGY')]),
  ]
}
