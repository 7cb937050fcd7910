import type { Scenario, SimulatedJob } from './simulate.js'

export const burst = (count: number, seconds: number, at = 60): readonly SimulatedJob[] =>
  Array.from({ length: count }, () => ({ at, seconds }))

/** One pod without jobs at noon, and the defaults of Kubernetes and KEDA. */
export const calm: Scenario = {
  jobs: [],
  concurrency: 1,
  limits: { minWorkers: 1, maxWorkers: 10, scaleUpThreshold: 100, scaleDownThreshold: 10 },
  policy: { drainSeconds: 60, stabilizationSeconds: 300, costOptimization: false, spotInstances: false, graceSeconds: 30 },
  startMs: Date.UTC(2026, 0, 1, 12),
  pods: 1,
  evaluationSeconds: 30,
  pollSeconds: 30,
  firstPoll: 10,
  downSeconds: 300,
  podStartSeconds: 20,
  graceSeconds: 30,
  newLeaders: [],
  untilSeconds: 48 * 3600,
}

/** Jobs of 20 minutes: six at once, then one at a time. */
export const longJobs: Scenario = {
  ...calm,
  evaluationSeconds: 60,
  untilSeconds: 8000,
  jobs: [...burst(6, 1200), ...burst(1, 1200, 1000), ...burst(1, 1200, 2000), ...burst(1, 1200, 3900)],
}
