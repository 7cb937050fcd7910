import { type AppClient, type Command, defineCommand, type Printer } from 'zin'
import type { BreakerStatus } from './contract.js'

const named = [{ name: 'name', summary: 'Name of the worker' }]

async function ask(app: AppClient, method: 'GET' | 'POST', name = '', verb = ''): Promise<BreakerStatus> {
  const path = `/api/workers/${encodeURIComponent(name)}/circuit${verb}`
  return (await app.request<{ circuit: BreakerStatus }>({ method, path })).circuit
}

function show({ circuits, enabled, state, worker }: BreakerStatus, print: Printer): void {
  print.line(`${worker}: ${enabled ? state : 'off'}`)
  for (const { jobName, openings, probes, reason, since, state: own, until } of circuits) {
    const which = jobName === null ? '' : `jobs "${jobName}" `
    print.line(`  ${which}${own} since ${since}: ${reason}${openings > 1 ? `; opened ${openings} times in a row` : ''}`)
    if (until !== null) print.line(`  probes run from ${until}`)
    else print.line(`  ${probes.passed} of ${probes.needed} probes have succeeded, ${probes.running} running`)
  }
}

function report(status: BreakerStatus, print: Printer): void {
  if (print.json) print.record(status)
  else show(status, print)
}

/** Commands that query the running app. */
export const breakerCommands: readonly Command[] = [
  defineCommand({
    name: 'circuit:status',
    summary: 'Show the state of the circuit breaker of a worker, with the reason',
    args: named,
    needs: 'running app',
    route: 'GET /api/workers/:name/circuit',
    json: true,
    run: async ({ app, args, print }) => report(await ask(app, 'GET', args.name), print),
  }),
  defineCommand({
    name: 'circuit:reset',
    summary: 'Close the circuits of a worker immediately',
    args: named,
    needs: 'running app',
    route: 'POST /api/workers/:name/circuit/reset',
    json: true,
    run: async ({ app, args, print }) => report(await ask(app, 'POST', args.name, '/reset'), print),
  }),
]
