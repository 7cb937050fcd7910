import { rowsOf, total } from '../../plugins/canary/judge/table.js'
import type { Evidence } from '../../plugins/canary/judge/types.js'

/** Rules that many canary systems use. Each sees the failures of the same jobs, at the same times. */
export const naiveRules = {
  /** The canary fails more often than stable by more than one percentage point or a quarter. */
  threshold: (evidence: Evidence): boolean => {
    const { canary, stable } = ratesOf(evidence)
    return canary.jobs >= 50 && canary.rate > stable.rate + Math.max(0.01, 0.25 * stable.rate)
  },
  /** A one-sided z-test at 5 %, repeated at each evaluation. */
  zTest: (evidence: Evidence): boolean => {
    const { canary, stable } = ratesOf(evidence)
    const pooled = (canary.bad + stable.bad + 1) / (canary.jobs + stable.jobs + 2)
    const error = Math.sqrt(pooled * (1 - pooled) * (1 / Math.max(1, canary.jobs) + 1 / Math.max(1, stable.jobs)))
    return canary.jobs >= 50 && (canary.rate - stable.rate) / error > 1.645
  },
}

function ratesOf(evidence: Evidence) {
  const rows = rowsOf(evidence)
  const of = (arm: 'stable' | 'canary') => {
    const tally = total(rows, arm, 'fail')
    return { ...tally, rate: tally.bad / Math.max(1, tally.jobs) }
  }
  return { canary: of('canary'), stable: of('stable') }
}
