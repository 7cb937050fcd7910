import { defineRoute, type Route, Type } from 'zin'
import type { ComplianceReport } from './report.js'

const control = Type.Object({
  id: Type.String({ description: '<part>/<control>' }),
  title: Type.String(),
  state: Type.Union([Type.Literal('met'), Type.Literal('gap'), Type.Literal('off')]),
  evidence: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
  gaps: Type.Array(Type.String()),
})

const reportResponse = Type.Object({
  ok: Type.Literal(true),
  app: Type.String(),
  environment: Type.String(),
  at: Type.String({ description: 'ISO 8601' }),
  summary: Type.Object({ met: Type.Integer(), gaps: Type.Integer(), off: Type.Integer() }),
  controls: Type.Array(control),
})

export function reportRoutes(report: () => Promise<ComplianceReport>): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/compliance/report',
      summary: 'Controls of the app, with evidence and gaps',
      tag: 'compliance',
      use: ['ops'],
      response: { 200: reportResponse },
      handler: async () => {
        const { controls, ...rest } = await report()
        return { ok: true as const, ...rest, controls: controls.map(({ gaps, ...one }) => ({ ...one, gaps: [...gaps] })) }
      },
    }),
  ]
}
