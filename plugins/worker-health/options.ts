import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'
import type { CheckOutcome } from './outcome.js'

/** Options of `workerHealth()`. */
export type WorkerHealthOptions = OptionsOf<typeof workerHealthOptions>

export const workerHealthOptions = defineOptions(
  Type.Object({
    failureThreshold: Type.Integer({ minimum: 1, maximum: 100, default: 2, description: 'Failures in a row that make a worker FAILED' }),
    timeoutMs: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 5_000,
      description: 'Longest time of one check, and of one call of `criticalCallback`, in ms',
    }),
    historyHours: Type.Integer({ minimum: 1, maximum: 8760, default: 168, description: 'How long history is kept, in hours' }),
    criticalCallback: Type.Optional(
      functionOption<(workerName: string, result: CheckOutcome) => void | Promise<void>>({
        description:
          '`(workerName, result)`, called when a worker becomes FAILED in this process. What it throws is logged, and so is a call that does not end in time',
      }),
    ),
  }),
)
