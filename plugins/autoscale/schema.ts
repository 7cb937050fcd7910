import { Type } from 'zin'

const ok = Type.Literal(true)
const status = {
  worker: Type.String(),
  desired: Type.Number({ description: 'Number of workers that the platform should run, which KEDA reads' }),
  target: Type.Number({ description: 'Number of workers that the load needs' }),
  current: Type.Number({ description: 'Current capacity, in workers' }),
  reason: Type.String(),
  backlog: Type.Number({ description: 'Jobs that are ready to run' }),
  running: Type.Union([Type.Number(), Type.Null()], { description: 'Jobs that run; null if they could not be read' }),
  queueAgeSeconds: Type.Number({ description: 'How long the oldest of these jobs has waited' }),
  dryRun: Type.Boolean(),
  decisionId: Type.Union([Type.String(), Type.Null()]),
  at: Type.String({ description: 'ISO 8601' }),
}
export const nameParams = Type.Object({ name: Type.String() })
export const listResponse = Type.Object({
  ok,
  enabled: Type.Boolean(),
  dryRun: Type.Boolean(),
  workers: Type.Array(Type.Object(status)),
})
export const statusResponse = Type.Object({ ok, ...status })
