import { Type } from 'zin'

const iso = Type.String({ description: 'ISO 8601' })
const state = Type.Enum(['closed', 'open', 'half-open'], { type: 'string' })

export const nameParams = Type.Object({ name: Type.String() })

const circuit = Type.Object({
  jobName: Type.Union([Type.String(), Type.Null()], { description: 'Null for the circuit of all jobs of the worker' }),
  state,
  since: iso,
  until: Type.Union([iso, Type.Null()], { description: 'When the next job may run as a probe' }),
  openings: Type.Integer({ description: 'Number of consecutive times that it opened' }),
  probes: Type.Object({ running: Type.Integer(), passed: Type.Integer(), needed: Type.Integer() }),
  reason: Type.String(),
})

export const circuitResponse = Type.Object({
  ok: Type.Literal(true),
  circuit: Type.Object({
    worker: Type.String(),
    enabled: Type.Boolean(),
    state,
    circuits: Type.Array(circuit, { description: 'Circuits that are not closed' }),
    rules: Type.Object({
      windowMs: Type.Integer(),
      minimumJobs: Type.Integer(),
      failureRatio: Type.Number(),
      consecutiveFailures: Type.Integer(),
      openMs: Type.Integer(),
      maxOpenMs: Type.Integer(),
      probes: Type.Integer(),
      perJobName: Type.Boolean(),
    }),
  }),
})
