import { type ActiveAlert, type AlertRule, alertRules } from '../snapshot.js'
import { type AlertState, nextAlertState, quiet } from './hysteresis.js'
import type { Observed, Rule } from './rules.js'

/** A raised or cleared alert. */
export interface AlertChange extends ActiveAlert {
  readonly state: 'raised' | 'cleared'
  /** ms since 1970. */
  readonly at: number
}

interface Watched {
  readonly state: AlertState
  readonly since: number
  readonly alert?: ActiveAlert
}

/** Tracks the alerts of one node across its snapshots. */
export class Alerts {
  readonly #rules: Readonly<Record<AlertRule, Rule>>
  readonly #watched = new Map<AlertRule, Watched>()

  constructor(rules: Readonly<Record<AlertRule, Rule>>) {
    this.#rules = rules
  }

  get active(): readonly ActiveAlert[] {
    return alertRules.flatMap((rule) => this.#watched.get(rule)?.alert ?? [])
  }

  /**
   * Evaluates a snapshot and returns the alerts that it raised or cleared.
   *
   * @param at ms since 1970.
   * @param elapsed Monotonic ms, used to measure how long a value has lasted.
   */
  observe(observed: Observed, at: number, elapsed: number): readonly AlertChange[] {
    return alertRules.flatMap((name): readonly AlertChange[] => {
      const { levels, measure, reason, shown, threshold } = this.#rules[name]
      const before = this.#watched.get(name) ?? { state: quiet, since: at }
      const value = measure(observed)
      const state = nextAlertState(before.state, value, elapsed, levels)
      const changed = state.active !== before.state.active
      const since = changed ? at : before.since
      const measured = value !== null && Number.isFinite(value)
      const last = before.alert
      const alert = {
        rule: name,
        since,
        value: measured ? shown(value) : (last?.value ?? threshold),
        threshold,
        reason: measured ? reason(value) : (last?.reason ?? ''),
      }
      this.#watched.set(name, { state, since, ...(state.active ? { alert } : {}) })
      if (!changed) return []
      return state.active
        ? [{ ...alert, state: 'raised', at }]
        : [{ ...alert, since: before.since, state: 'cleared', at, reason: clearedReason(name, measured ? reason(value) : undefined) }]
    })
  }

  /** Clears all state and returns the active alerts as cleared, because monitoring ends. */
  end(at: number): readonly AlertChange[] {
    const { active } = this
    this.#watched.clear()
    return active.map((alert) => ({
      ...alert,
      state: 'cleared',
      at,
      reason: `Monitoring of the node was stopped. Last state: ${alert.reason}`,
    }))
  }
}

function clearedReason(rule: AlertRule, now: string | undefined): string {
  if (rule === 'memory-trend') return now === undefined ? 'Resident memory no longer grows steadily' : `The growth slowed down. ${now}`
  return now ?? 'Back to normal'
}
