import type { Policy } from './types.js'

/** Health scores from the start request, each 0 to 100. */
export interface Thresholds {
  /** Default: the sequential test decides. */
  readonly successThreshold?: number | undefined
  /** Default 50. */
  readonly rollbackThreshold?: number | undefined
}

/** Returns the policy of a canary: the defaults with the thresholds of its request. */
export function policyOf({ successThreshold, rollbackThreshold = 50 }: Thresholds = {}): Policy {
  return {
    metrics: {
      fail: { tolerance: { absolute: 0.01, relative: 0.25 }, alpha: 0.02, fastAlpha: 0.01 },
      slow: { tolerance: { absolute: 0.02, relative: 0.5 }, alpha: 0.02 },
      lost: { tolerance: { absolute: 0.005, relative: 1 }, alpha: 0.005, fastAlpha: 0.005 },
    },
    rollbackThreshold,
    successThreshold,
    minJobs: 50,
    sampleRatioAlpha: 0.0005,
  }
}
