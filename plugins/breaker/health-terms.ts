import type { PluginHealthTerm } from 'zin/plugins/workers'
import type { Circuits } from './shared-circuits.js'

const penalties = { open: 40, 'half-open': 20 } as const

/** Returns the penalty of the worst circuit that is not closed on the health score of a worker. */
export function healthTermsOf(circuits: Circuits): readonly PluginHealthTerm[] {
  const entries = Object.entries(circuits)
  const [worst] = [...entries].sort(([, a], [, b]) => penalties[b.state] - penalties[a.state])
  if (worst === undefined) return []
  const [key, { state, since, reason }] = worst
  const which = key === '' ? 'The circuit' : `The circuit of jobs named "${key.slice(0, 100)}"`
  const others = entries.length > 1 ? `; ${entries.length - 1} more are not closed` : ''
  return [
    {
      name: 'circuit',
      penalty: penalties[state],
      reason: `${which} has been ${state} since ${new Date(since).toISOString()}: ${reason}${others}`,
    },
  ]
}
