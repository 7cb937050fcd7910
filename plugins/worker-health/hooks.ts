import type { HookSpecs, Notify } from 'zin'
import type { CheckOutcome } from './outcome.js'

/** Hooks that the plugin fires. */
export interface WorkerHealthHooks {
  onHealthCheck: Notify<[workerName: string, result: CheckOutcome]>
}

export const workerHealthHooks = {
  onHealthCheck: { kind: 'notify', args: ['workerName', 'result'], summary: 'A health check of a worker ended on this node' },
} satisfies HookSpecs<WorkerHealthHooks>

declare module 'zin' {
  interface HookMap extends WorkerHealthHooks {}
}
