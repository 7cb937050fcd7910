import { type ActiveAlert, type AlertRule, alertRules } from '../snapshot.js'
import { type AlertState, nextAlertState, quiet } from './hysteresis.js'
import type { Observed, Rule } from './rules.js'

/** An alert that was raised or cleared. */
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

/** The alerts of one node, over its snapshots. */
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
   * Looks at a snapshot, and returns what it changed.
   *
   * @param at ms since 1970.
   * @param elapsed ms by a monotonic clock, which decides how long a value has been there.
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

  /** Forgets what was seen, and returns the active alerts as cleared: nobody looks any more. */
  end(at: number): readonly AlertChange[] {
    const { active } = this
    this.#watched.clear()
    return active.map((alert) => ({
      ...alert,
      state: 'cleared',
      at,
      reason: `Monitoring of the node stopped. Before that: ${alert.reason}`,
    }))
  }
}

function clearedReason(rule: AlertRule, now: string | undefined): string {
  if (rule === 'memory-trend') return now === undefined ? 'Resident memory no longer grows steadily' : `The growth slowed down. ${now}`
  return now ?? 'Back to normal'
}
