import type { PluginHealthTerm } from 'zin/plugins/workers'
import type { CanaryRecord, PauseReason } from './record.js'

/** Pause reasons that indicate a broken version; with the other ones, the canary only waits for a person. */
const penalties: Partial<Readonly<Record<PauseReason, number>>> = { 'regression-observed': 20, 'nodes-missing': 20 }

/** Returns the penalty of a canary on the health score of its worker; nonzero only while a broken version still gets jobs. */
export function healthTermsOf(record: CanaryRecord | undefined): readonly PluginHealthTerm[] {
  const { canary, history, pausedFor } = record ?? {}
  const penalty = pausedFor === undefined ? undefined : penalties[pausedFor]
  if (penalty === undefined) return []
  return [
    {
      name: 'canary',
      penalty,
      reason: `The canary of version ${canary} is paused (${pausedFor}): ${history?.at(-1)?.reason ?? ''}`.slice(0, 500),
    },
  ]
}
