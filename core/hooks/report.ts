import type { HookKind } from './kinds.js'

/** One listener as `zin hooks` shows it. */
export interface ListenerReport {
  readonly plugin: string
  readonly order: 'pre' | 'normal' | 'post'
  readonly calls: number
  readonly errors: number
  readonly timeouts: number
  /** Calls that never reached it: too many pending, or muted. */
  readonly dropped: number
  /** In flight or queued, without those that are overdue. */
  readonly pending: number
  readonly muted: boolean
  /**
   * Mean time of timed calls (the first, then 1 in 256) in ns, 0 before the first: of notify hooks the synchronous part,
   * of others the time until the result.
   */
  readonly meanNs: number
}

/** One hook as `zin hooks` shows it. */
export interface HookReport {
  readonly name: string
  readonly kind: HookKind
  readonly owner: string
  readonly summary: string
  readonly args: readonly string[]
  readonly listeners: readonly ListenerReport[]
}
