import type { Gate, HookSpecs, Notify } from 'zin'
import type { CanaryEvent } from './contract.js'

/** The canary that a hook refers to. */
export interface CanarySubject {
  readonly id: string
  readonly worker: string
  readonly stable: string
  readonly canary: string
  /** Share of the jobs in percent. */
  readonly trafficPercentage: number
}

export interface CanaryChange extends CanarySubject, CanaryEvent {}

/** Hooks that the plugin fires. */
export interface CanaryHooks {
  onCanaryChange: Notify<[change: CanaryChange]>
  beforeCanaryPromote: Gate<[canary: CanarySubject]>
}

export const canaryHooks = {
  onCanaryChange: {
    kind: 'notify',
    args: ['change'],
    summary: 'A canary changed its state or step; fired on the node that made the change',
  },
  beforeCanaryPromote: {
    kind: 'gate',
    args: ['canary'],
    summary: 'A canary is about to get all jobs; deny it to pause the canary, or to refuse the request',
  },
} satisfies HookSpecs<CanaryHooks>

declare module 'zin' {
  interface HookMap extends CanaryHooks {}
}
