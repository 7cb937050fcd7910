import type { PluginHealthTerm } from 'zin/plugins/workers'
import type { CanaryRecord, PauseReason } from './record.js'

/** Pauses that say that the version does not work; the others only wait for somebody. */
const penalties: Partial<Readonly<Record<PauseReason, number>>> = { 'regression-observed': 20, 'nodes-missing': 20 }

/** What a canary takes off the health score of its worker: something only while a version that does not work still gets jobs. */
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
