import { type DailyWindow, isWithin, reduced } from './off-peak.js'
import type { ScalingLimits, ScalingPolicy } from './recommend.js'

/** Settings and options of the scaling policy. */
export interface PolicyInput {
  readonly drainSeconds: number
  readonly stabilizationSeconds: number
  readonly costOptimization: boolean
  readonly spotInstances: boolean
  readonly graceSeconds: number
  /** If absent, capacity is the same all day. */
  readonly offPeak?: { readonly window: DailyWindow; readonly reduction: number; readonly timeZone: string }
}

const utilization = 0.75
/** With cost optimization: higher utilization, longer waits, and faster scale-down. */
const cheapUtilization = 0.9
const cheapPatience = 2

export function policyOf({
  costOptimization,
  drainSeconds,
  graceSeconds,
  spotInstances,
  stabilizationSeconds,
}: PolicyInput): ScalingPolicy {
  return {
    utilization: costOptimization ? cheapUtilization : utilization,
    drainSeconds: drainSeconds * (costOptimization ? cheapPatience : 1),
    stabilizationSeconds: stabilizationSeconds / (costOptimization ? cheapPatience : 1),
    spare: spotInstances,
    graceSeconds,
  }
}

/** Returns the limits at a time; off-peak, both are reduced, to at least one worker. */
export function limitsAt(limits: ScalingLimits, { offPeak }: PolicyInput, at: number): ScalingLimits {
  if (offPeak === undefined || !isWithin(offPeak.window, at, offPeak.timeZone)) return limits
  const maxWorkers = reduced(limits.maxWorkers, offPeak.reduction)
  return { ...limits, maxWorkers, minWorkers: Math.min(limits.minWorkers, maxWorkers) }
}
