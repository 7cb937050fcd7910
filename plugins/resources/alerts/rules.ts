import type { AlertRule, alertRules, ResourceSnapshot } from '../snapshot.js'
import { aboutTime, type Forecast } from '../trends/forecast.js'
import type { Levels } from './hysteresis.js'

/** Alert thresholds from the options of the plugin. */
export interface AlertThresholds {
  readonly eventLoopUtilization: number
  readonly eventLoopDelayMs: number
  readonly heap: number
  readonly containerMemory: number
  readonly forecastHours: number
}

/** Input of the rules. */
export type Observed = Pick<
  ResourceSnapshot,
  'eventLoopUtilization' | 'eventLoopDelayP99Ms' | 'heapUsed' | 'heapLimit' | 'containerMemory' | 'memoryLimit'
> & {
  /** Forecast of the resident memory from the last hour, against `memoryLimit`. */
  readonly memory: Forecast | undefined
}

/** A rule derived from the thresholds. */
export interface Rule {
  readonly levels: Levels
  /** Threshold shown in alerts. */
  readonly threshold: number
  /** Returns the value that is compared with the levels; null if not measured. */
  measure(observed: Observed): number | null
  /** Returns the value shown in alerts. */
  shown(value: number): number
  /** Returns the reason with its numbers, as one sentence. */
  reason(value: number): string
}

const minute = 60_000
const hour = 60 * minute
/** An alert is cleared below this share of its level, so that it does not flap. */
const margin = 0.9
const percent = (share: number): string => `${Math.round(share * 100)} %`
const round = (value: number): number => Math.round(value * 1000) / 1000

/** Returns the rules for thresholds. Memory that does not reach the limit at its rate counts as infinitely far from it. */
export function rulesOf(thresholds: AlertThresholds): Readonly<Record<AlertRule, Rule>> {
  const { containerMemory, eventLoopDelayMs, eventLoopUtilization, forecastHours, heap } = thresholds
  const share = (level: number, raiseAfterMs: number): Levels => ({
    raiseAbove: level,
    raiseAfterMs,
    clearBelow: level * margin,
    clearAfterMs: minute,
  })
  return {
    'event-loop-busy': {
      levels: share(eventLoopUtilization, 2 * minute),
      threshold: eventLoopUtilization,
      measure: (observed) => observed.eventLoopUtilization,
      shown: round,
      reason: (value) => `The event loop is busy ${percent(value)} of the time, so job locks may not be renewed in time`,
    },
    'event-loop-delay': {
      levels: { raiseAbove: eventLoopDelayMs, raiseAfterMs: 0, clearBelow: eventLoopDelayMs / 2, clearAfterMs: minute },
      threshold: eventLoopDelayMs,
      measure: (observed) => observed.eventLoopDelayP99Ms,
      shown: Math.round,
      reason: (value) => `The 99th percentile of the event loop delay is ${Math.round(value)} ms`,
    },
    heap: {
      levels: share(heap, 0),
      threshold: heap,
      measure: (observed) => observed.heapUsed / observed.heapLimit,
      shown: round,
      reason: (value) => `The heap is ${percent(value)} full; V8 aborts the process when it is full`,
    },
    'container-memory': {
      levels: share(containerMemory, 0),
      threshold: containerMemory,
      measure: (observed) => (observed.containerMemory === null ? null : observed.containerMemory / observed.memoryLimit),
      shown: round,
      reason: (value) => `The container uses ${percent(value)} of its memory limit`,
    },
    'memory-trend': {
      // Negated, so that less time left is a greater value.
      levels: {
        raiseAbove: -forecastHours * hour,
        raiseAfterMs: 5 * minute,
        clearBelow: -2 * forecastHours * hour,
        clearAfterMs: 10 * minute,
      },
      threshold: forecastHours,
      measure: ({ memory }) => (memory === undefined ? null : -(memory.limitInMs ?? Number.POSITIVE_INFINITY)),
      shown: (value) => round(-value / hour),
      reason: (value) => `Resident memory grows steadily and reaches its limit in ${aboutTime(-value)}`,
    },
  } satisfies Record<(typeof alertRules)[number], Rule>
}
