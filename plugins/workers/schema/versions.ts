import { Type } from 'typebox'
import { anything, iso, literals, ok, waitQuery } from './common.js'

export const versionBody = Type.Object({
  version: Type.Unknown({ description: 'major.minor.patch' }),
  description: anything('At most 1000 characters'),
  processor: anything('File path or https URL; optional when one is registered in code as "<name>@<version>"'),
  healthCheck: anything('File path under a processor root'),
})

const versionRecord = Type.Object({
  version: Type.String(),
  description: Type.String(),
  processor: Type.Union([Type.String(), Type.Null()]),
  healthCheck: Type.Union([Type.String(), Type.Null()]),
  state: literals(['registered', 'activating', 'active', 'refused', 'draining', 'drained']),
  nodes: Type.Array(Type.String()),
  busy: Type.Integer(),
  createdAt: iso,
  activatedAt: Type.Union([iso, Type.Null()]),
  refused: Type.Optional(
    Type.Object(
      {
        by: Type.String({ description: 'The plugin that refused it; workers: its rollout halted' }),
        reason: Type.String(),
        evidence: Type.Optional(Type.Object({}, { additionalProperties: true })),
        at: iso,
      },
      { description: 'Why it must not run, until it is activated again' },
    ),
  ),
})

export const versionAnswer = Type.Object({ ok, version: versionRecord })

export const versionsAnswer = Type.Object({ ok, versions: Type.Array(versionRecord) })

export const activateQuery = Type.Object(
  {
    ...waitQuery.properties,
    force: Type.Boolean({ default: false, description: 'Activate a version that a plugin refused' }),
  },
  { additionalProperties: false },
)

export const versionParams = Type.Object({ name: Type.String(), version: Type.String({ maxLength: 40 }) })
