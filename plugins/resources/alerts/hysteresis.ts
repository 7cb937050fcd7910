/** When a value counts as a problem, and when as none. Between the two levels nothing changes. */
export interface Levels {
  /** Above it the alert is raised. */
  readonly raiseAbove: number
  /** How long it has to be above, in ms; 0: once is enough. */
  readonly raiseAfterMs: number
  /** Below it the alert is cleared; at most `raiseAbove`. */
  readonly clearBelow: number
  /** How long it has to be below, in ms. */
  readonly clearAfterMs: number
}

export interface AlertState {
  readonly active: boolean
  /** Since when the value has been beyond the level that would change the state; absent: it is not. ms. */
  readonly pendingSince?: number
}

export const quiet: AlertState = { active: false }

/**
 * The state after a value. A missing value changes nothing, and what was pending starts again: no alert is raised or cleared for times
 * that nobody measured.
 */
export function nextAlertState(state: AlertState, value: number | null, at: number, levels: Levels): AlertState {
  const { active } = state
  const beyond = value !== null && (active ? value < levels.clearBelow : value > levels.raiseAbove)
  if (!beyond) return { active }
  const since = state.pendingSince ?? at
  const neededMs = active ? levels.clearAfterMs : levels.raiseAfterMs
  return at - since >= neededMs ? { active: !active } : { active, pendingSince: since }
}
