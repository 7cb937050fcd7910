import type { HookSpecs, Notify } from 'zin'

/** A worker was scaled. */
export interface ScaleEvent {
  readonly worker: string
  readonly direction: 'up' | 'down'
  /** Number of workers before and after. */
  readonly from: number
  readonly to: number
  /** New concurrency per process. */
  readonly concurrency: number
  readonly reason: string
  readonly decisionId: string
}

/** A worker was moved to another region. */
export interface FailoverEvent {
  readonly worker: string
  readonly from: readonly string[]
  readonly to: string
  readonly reason: string
  readonly decisionId: string
}

/** Hooks that the plugin fires. */
export interface AutoscaleHooks {
  onScale: Notify<[scale: ScaleEvent]>
  onFailover: Notify<[failover: FailoverEvent]>
}

export const autoscaleHooks = {
  onScale: { kind: 'notify', args: ['scale'], summary: 'A worker was scaled; fired on the leader' },
  onFailover: { kind: 'notify', args: ['failover'], summary: 'A worker was moved to another region; fired on the leader' },
} satisfies HookSpecs<AutoscaleHooks>

declare module 'zin' {
  interface HookMap extends AutoscaleHooks {}
}
