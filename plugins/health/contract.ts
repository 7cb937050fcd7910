import { type Disposer, defineService } from 'zin'

/**
 * The effect of a check. `readiness`: whether the app may receive traffic. `startup`: whether its boot is done.
 * `info`: none, it is only shown.
 */
export type CheckKind = 'readiness' | 'startup' | 'info'

/** A check of a dependency of the app. */
export interface HealthCheck {
  /** kebab-case, unique in the app. */
  readonly name: string
  readonly kind: CheckKind
  /** A failing critical check causes a 503; any other only warns. Default true; ignored for `info`. */
  readonly critical?: boolean
  /** Default 2000 ms. */
  readonly timeoutMs?: number
  /**
   * Throws when the check fails. May return the response time in ms, or `null` when there is nothing to check; with
   * `undefined` the duration of the run is used. `signal` is aborted at the deadline and when the plugin stops.
   */
  run(signal: AbortSignal): Promise<number | null | void> | number | null | void
}

/** Registers the health checks of plugins. */
export interface HealthChecks {
  /** Adds a check; the returned function removes it. Throws HEALTH_CHECK_EXISTS, HEALTH_CHECK_NAME_INVALID. */
  register(check: HealthCheck): Disposer
}

export const healthChecksService = defineService<HealthChecks>('health.checks')
