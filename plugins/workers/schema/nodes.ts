import { Type } from 'typebox'
import { iso, ok } from './common.js'

export const nodeParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100, description: 'As in GET /api/nodes' }) })

const node = Type.Object({
  id: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  region: Type.String(),
  consumes: Type.Boolean(),
  draining: Type.Boolean({ description: 'Whether it takes no new jobs and finishes the running ones' }),
  busy: Type.Integer({ description: 'Running jobs, at most 2 s old; 0 of a lost node, whose jobs are taken over' }),
  startedAt: iso,
  alive: Type.Boolean(),
  leaseUntil: iso,
  leaseMs: Type.Integer({ description: 'ms until its lease ends' }),
})

export const nodesAnswer = Type.Object({ ok, nodes: Type.Array(node) })

export const nodeAnswer = Type.Object({ ok, message: Type.String(), node })
