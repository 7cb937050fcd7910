import { type Disposer, defineService } from 'zin'

/**
 * What a check decides: `readiness` whether the app may get traffic, `startup` whether its boot is done,
 * `info` nothing (it is only shown).
 */
export type CheckKind = 'readiness' | 'startup' | 'info'

/** A check of something that the app needs. */
export interface HealthCheck {
  /** kebab-case, unique in the app. */
  readonly name: string
  readonly kind: CheckKind
  /** A failing critical check answers 503; another one only warns. Default true; without meaning for `info`. */
  readonly critical?: boolean
  /** Default 2000 ms. */
  readonly timeoutMs?: number
  /**
   * Throws when the thing does not work. A returned number is the response time in ms; `null` says that there is nothing
   * to check; nothing means that the time of the run counts. `signal` ends at the deadline and when the plugin stops.
   */
  run(signal: AbortSignal): Promise<number | null | void> | number | null | void
}

/** Lets plugins say how they are. */
export interface HealthChecks {
  /** Adds a check until the returned function is called. Throws HEALTH_CHECK_EXISTS, HEALTH_CHECK_NAME_INVALID. */
  register(check: HealthCheck): Disposer
}

export const healthChecksService = defineService<HealthChecks>('health.checks')
