import { type Command, defineCommand } from 'zin'
import type { HealthReport } from 'zin/plugins/workers'

/** Commands that query the running app. */
export const workerHealthCommands: readonly Command[] = [
  defineCommand({
    name: 'worker:health',
    summary: 'Show the health score of a worker and its penalties',
    args: [{ name: 'name', summary: 'Name of the worker' }],
    needs: 'running app',
    route: 'GET /api/workers/:name/health',
    json: true,
    run: async ({ app, args, print }) => {
      const path = `/api/workers/${encodeURIComponent(args.name ?? '')}/health`
      const { health } = await app.request<{ health: HealthReport & { name: string } }>({ method: 'GET', path })
      if (print.json) return print.record(health)
      print.line(`${health.name}: ${health.score} of 100${health.monitored ? '' : ', not monitored'}`)
      for (const { penalty, plugin, reason } of health.terms) {
        print.line(`  -${penalty}  ${reason}${plugin === undefined ? '' : ` (${plugin})`}`)
      }
      for (const check of health.checks) print.line(`  ${check.node}: ${check.healthy ? 'healthy' : `unhealthy: ${check.error}`}`)
    },
  }),
]
