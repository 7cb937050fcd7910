import type { HookKind } from './kinds.js'

/** One listener, as shown by `zin hooks`. */
export interface ListenerReport {
  readonly plugin: string
  readonly order: 'pre' | 'normal' | 'post'
  readonly calls: number
  readonly errors: number
  readonly timeouts: number
  /** Calls dropped because it was muted or had too many pending. */
  readonly dropped: number
  /** Calls in flight or queued, without those that have timed out. */
  readonly pending: number
  readonly muted: boolean
  /**
   * Mean duration of the timed calls (the first, then 1 in 256) in ns, 0 before the first. For notify hooks the synchronous part,
   * for others the time until the result.
   */
  readonly meanNs: number
}

/** One hook, as shown by `zin hooks`. */
export interface HookReport {
  readonly name: string
  readonly kind: HookKind
  readonly owner: string
  readonly summary: string
  readonly args: readonly string[]
  readonly listeners: readonly ListenerReport[]
}
