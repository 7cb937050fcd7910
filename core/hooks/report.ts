import type { HookKind } from './kinds.js'

/** One listener as `zin hooks` shows it. */
export interface ListenerReport {
  readonly plugin: string
  readonly order: 'pre' | 'normal' | 'post'
  readonly calls: number
  readonly errors: number
  readonly timeouts: number
  readonly dropped: number
  readonly pending: number
  readonly muted: boolean
  /** Mean time of sampled calls in ns, 0 before the first sample. */
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
