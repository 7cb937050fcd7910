import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'
import type { CheckOutcome } from './outcome.js'

/** Options of `workerHealth()`. */
export type WorkerHealthOptions = OptionsOf<typeof workerHealthOptions>

export const workerHealthOptions = defineOptions(
  Type.Object({
    failureThreshold: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 2,
      description: 'Consecutive failures after which a worker is FAILED',
    }),
    timeoutMs: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 5_000,
      description: 'Timeout of a check, and of a call of `criticalCallback`, in ms',
    }),
    historyHours: Type.Integer({ minimum: 1, maximum: 8760, default: 168, description: 'Retention of the history, in hours' }),
    criticalCallback: Type.Optional(
      functionOption<(workerName: string, result: CheckOutcome) => void | Promise<void>>({
        description: '`(workerName, result)`, called when a worker becomes FAILED on this node. Errors and timeouts of the call are logged',
      }),
    ),
  }),
)
