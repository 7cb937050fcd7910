import type { HookSpecs, Notify } from 'zin'
import type { AlertChange } from './alerts/alerts.js'

/** A raised or cleared alert of a node. */
export interface ResourceAlert extends AlertChange {
  /** Id of the node in the cluster. */
  readonly node: string
}

/** Hooks that the plugin fires. */
export interface ResourceHooks {
  onResourceAlert: Notify<[alert: ResourceAlert]>
}

export const resourceHooks = {
  onResourceAlert: { kind: 'notify', args: ['alert'], summary: 'A resource alert of this node was raised or cleared' },
} satisfies HookSpecs<ResourceHooks>

declare module 'zin' {
  interface HookMap extends ResourceHooks {}
}
