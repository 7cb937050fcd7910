import type { AlertRule, alertRules, ResourceSnapshot } from '../snapshot.js'
import { aboutTime, type Forecast } from '../trends/forecast.js'
import type { Levels } from './hysteresis.js'

/** Levels of the alerts, as the options of the plugin give them. */
export interface AlertThresholds {
  readonly eventLoopUtilization: number
  readonly eventLoopDelayMs: number
  readonly heap: number
  readonly containerMemory: number
  readonly forecastHours: number
}

/** What the rules look at. */
export type Observed = Pick<
  ResourceSnapshot,
  'eventLoopUtilization' | 'eventLoopDelayP99Ms' | 'heapUsed' | 'heapLimit' | 'containerMemory' | 'memoryLimit'
> & {
  /** Of the resident memory in the last hour, against `memoryLimit`. */
  readonly memory: Forecast | undefined
}

/** One rule, made from the thresholds. */
export interface Rule {
  readonly levels: Levels
  /** The level that alerts show. */
  readonly threshold: number
  /** What the levels are compared with; null: not measured. */
  measure(observed: Observed): number | null
  /** What alerts show for it. */
  shown(value: number): number
  /** One sentence, with the numbers. */
  reason(value: number): string
}

const minute = 60_000
const hour = 60 * minute
/** A cleared alert is this share below its level, so that it does not flap. */
const margin = 0.9
const percent = (share: number): string => `${Math.round(share * 100)} %`
const round = (value: number): number => Math.round(value * 1000) / 1000

/** The rules for thresholds. Growing memory that never reaches the limit at this rate counts as infinitely far from it. */
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
      reason: (value) => `The event loop is busy ${percent(value)} of the time, and locks of jobs may not be renewed in time`,
    },
    'event-loop-delay': {
      levels: { raiseAbove: eventLoopDelayMs, raiseAfterMs: 0, clearBelow: eventLoopDelayMs / 2, clearAfterMs: minute },
      threshold: eventLoopDelayMs,
      measure: (observed) => observed.eventLoopDelayP99Ms,
      shown: Math.round,
      reason: (value) => `The event loop is late by ${Math.round(value)} ms at the 99th percentile`,
    },
    heap: {
      levels: share(heap, 0),
      threshold: heap,
      measure: (observed) => observed.heapUsed / observed.heapLimit,
      shown: round,
      reason: (value) => `The heap is ${percent(value)} full; V8 ends the process when it is full`,
    },
    'container-memory': {
      levels: share(containerMemory, 0),
      threshold: containerMemory,
      measure: (observed) => (observed.containerMemory === null ? null : observed.containerMemory / observed.memoryLimit),
      shown: round,
      reason: (value) => `The container uses ${percent(value)} of its memory limit`,
    },
    'memory-trend': {
      // The less time is left, the greater the value.
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
