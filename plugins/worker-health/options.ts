import { Type } from 'typebox'
import type { CheckOutcome } from './outcome.js'

/** Options of `workerHealth()`. */
export interface WorkerHealthOptions {
  /** Failures in a row that make a worker FAILED. */
  readonly failureThreshold: number
  /** Longest time of one check, and of one call of `criticalCallback`, in ms. */
  readonly timeoutMs: number
  /** How long history is kept, in hours. */
  readonly historyHours: number
  /** Called when a worker becomes FAILED in this process; what it throws is logged, as is one that does not end in time. */
  readonly criticalCallback?: (workerName: string, result: CheckOutcome) => void | Promise<void>
}

export const workerHealthOptions = {
  schema: Type.Object(
    {
      failureThreshold: Type.Integer({ minimum: 1, maximum: 100 }),
      timeoutMs: Type.Integer({ minimum: 10, maximum: 60_000 }),
      historyHours: Type.Integer({ minimum: 1, maximum: 8760 }),
      // A function has no JSON schema: it is checked when the plugin is set up.
      criticalCallback: Type.Optional(Type.Unknown()),
    },
    { additionalProperties: false },
  ),
  defaults: { failureThreshold: 2, timeoutMs: 5_000, historyHours: 168 } as WorkerHealthOptions,
}
