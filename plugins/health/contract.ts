import { type Disposer, defineService } from 'zin'

/**
 * The effect of a check. `readiness`: whether the app may receive traffic. `startup`: whether its boot is done.
 * `info`: none, it is only shown.
 */
export type CheckKind = 'readiness' | 'startup' | 'info'

/** A measured value, for a check that measures something other than a response time. */
export interface HealthMeasurement {
  /** What was measured; the entry in `health+json` is `<check>:<name>`. */
  readonly name: string
  readonly value: number
  readonly unit: string
  /** Why the check fails, if it does. */
  readonly problem?: string
  /** Whether a failure only warns, although the check is critical. Default false. */
  readonly warns?: boolean
}

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
   * Throws when the check fails. May return the response time in ms, a measured value, or `null` when there is nothing to check; with
   * `undefined` the duration of the run is used. `signal` is aborted at the deadline and when the plugin stops.
   */
  run(signal: AbortSignal): Promise<number | HealthMeasurement | null | void> | number | HealthMeasurement | null | void
}

/** Registers the health checks of plugins. */
export interface HealthChecks {
  /** Adds a check; the returned function removes it. Throws HEALTH_CHECK_EXISTS, HEALTH_CHECK_NAME_INVALID. */
  register(check: HealthCheck): Disposer
}

/** The clock of this node, compared with those of the stores and of the other nodes once a minute. */
export interface HealthClock {
  /**
   * Why this clock is off: it differs from that of a store by more than the window of signed requests. Undefined if it does not, and while
   * no store could be asked.
   */
  readonly problem: { readonly text: string; readonly isWrong: boolean } | undefined
}

export const healthClockService = defineService<HealthClock>('health.clock')

export const healthChecksService = defineService<HealthChecks>('health.checks')
