import { type Command, defineCommand } from 'zin'
import { type ComplianceReport, reportText } from './report.js'

export const reportCommands: readonly Command[] = [
  defineCommand({
    name: 'compliance:report',
    summary: 'Show the controls of the running app, with evidence and gaps',
    needs: 'running app',
    route: 'GET /api/compliance/report',
    json: true,
    run: async ({ app, print }) => {
      const report = await app.request<ComplianceReport>({ method: 'GET', path: '/api/compliance/report' })
      if (print.json) return print.record(report)
      for (const line of reportText(report)) print.line(line)
    },
  }),
]
