import type { HookSpecs, Notify } from 'zin'
import type { CircuitChange } from './contract.js'

/** Hooks that the plugin fires. */
export interface BreakerHooks {
  onCircuitChange: Notify<[change: CircuitChange]>
}

export const breakerHooks = {
  onCircuitChange: {
    kind: 'notify',
    args: ['change'],
    summary: 'A circuit of a worker opened, became half-open or closed; fired on the node that changed it',
  },
} satisfies HookSpecs<BreakerHooks>

declare module 'zin' {
  interface HookMap extends BreakerHooks {}
}
