/** Thresholds with hysteresis: between the two levels, nothing changes. */
export interface Levels {
  /** Above this level, the alert is raised. */
  readonly raiseAbove: number
  /** How long the value has to be above, in ms; 0 raises the alert immediately. */
  readonly raiseAfterMs: number
  /** Below this level, the alert is cleared; at most `raiseAbove`. */
  readonly clearBelow: number
  /** How long the value has to be below, in ms. */
  readonly clearAfterMs: number
}

export interface AlertState {
  readonly active: boolean
  /** Since when the value has been beyond the level that changes the state, in ms; absent if it is not. */
  readonly pendingSince?: number
}

export const quiet: AlertState = { active: false }

/**
 * Returns the state after a value. A missing value changes nothing and resets what was pending, so that no alert is raised or cleared for
 * times that were not measured.
 */
export function nextAlertState(state: AlertState, value: number | null, at: number, levels: Levels): AlertState {
  const { active } = state
  const beyond = value !== null && (active ? value < levels.clearBelow : value > levels.raiseAbove)
  if (!beyond) return { active }
  const since = state.pendingSince ?? at
  const neededMs = active ? levels.clearAfterMs : levels.raiseAfterMs
  return at - since >= neededMs ? { active: !active } : { active, pendingSince: since }
}
