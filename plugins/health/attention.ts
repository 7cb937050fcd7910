import type { AttentionFact } from 'zin'
import type { HealthClock } from './contract.js'
import type { Finding } from './service.js'

/** Checks of stores: those that fail cannot be read or written. */
const stores: ReadonlySet<string> = new Set(['database', 'database-writes', 'cache', 'queues'])
/** Checks whose subject other facts name. */
const named: ReadonlySet<string> = new Set(['clock', 'workers', 'webhooks'])

/** Health checks that fail. */
export function failingChecks(findings: readonly Finding[]): readonly AttentionFact[] {
  return findings
    .filter(({ name, reading }) => !reading.ok && reading.present && !named.has(name))
    .map(({ blocks, name, reading }) => {
      const isStore = stores.has(name)
      const what = isStore ? `The store "${name}" cannot be read or written` : `The health check "${name}" fails`
      const effect = blocks ? ', so that the app is not ready' : ''
      return {
        kind: isStore ? 'store-unavailable' : 'health-check',
        subject: `check:${name}`,
        severity: blocks || isStore ? 'bad' : 'warn',
        cause: `${what}${effect}: ${reading.error ?? 'no reason given'}`,
        act: { label: 'See the health of the app', href: '/health/ready' },
      } satisfies AttentionFact
    })
}

/** The clock of this process, if it is off. */
export function clockFacts(problem: HealthClock['problem'], node: string): readonly AttentionFact[] {
  if (problem === undefined) return []
  const { isWrong, text } = problem
  const act = { label: 'See the nodes', href: '/console/nodes' }
  return [{ kind: 'clock-off', subject: `node:${node}`, severity: isWrong ? 'bad' : 'warn', cause: `On node ${node}, ${text}`, act }]
}
