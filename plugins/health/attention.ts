import type { AttentionFact, AttentionReport } from 'zin'
import type { ClockWatch } from './clock-watch.js'
import type { Finding } from './service.js'

/** The kinds of facts, and when each is listed. */
export const healthKinds = {
  'store-unavailable': 'the health check of a store fails',
  'health-check': 'another health check fails',
  'clock-off': 'the clock of a node differs from that of a store by more than the window of signed requests',
} as const

/** Checks of stores: those that fail cannot be read or written. */
const stores: ReadonlySet<string> = new Set(['database', 'database-writes', 'cache', 'queues'])
/** Checks whose subject other facts name. */
const named: ReadonlySet<string> = new Set(['clock', 'workers'])

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
        act: { label: 'See the health of the app', href: '/console/health' },
      } satisfies AttentionFact
    })
}

/** The clock of this process, if it is off, or could not be compared. */
export function clockReport({ report, unread }: Pick<ClockWatch, 'report' | 'unread'>, node: string): AttentionReport {
  const act = { label: 'See the health of the app', href: '/console/health' }
  const cause = `On node ${node}, ${report?.text}`
  const severity = report?.state === 'wrong' ? 'bad' : 'warn'
  const isOff = report !== undefined && report.state !== 'right'
  const reason = `The clock of node ${node} could not be compared with any store: ${unread}`
  return {
    facts: isOff ? [{ kind: 'clock-off', subject: `node:${node}`, severity, cause, act }] : [],
    notChecked: unread === undefined ? [] : [{ kind: 'clock-off', reason }],
  }
}
