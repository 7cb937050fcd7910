import { averageOf, noAttempts, type SampledQueue, sizeOf, sumAttempts } from '../snapshot/snapshot.js'
import type { QueueAttempts } from '../snapshot/worker-attempts.js'
import { failureEvidence, falseAlarmMinutes, type MinuteCounts, recentFailures } from './failure-rate.js'

export const alertRules = ['queue-size', 'oldest-waiting', 'processing-time', 'failure-rate'] as const
export type AlertRule = (typeof alertRules)[number]

/** When a rule raises an alert. */
export interface RuleLimit {
  readonly threshold: number
  /** Only of the failure rate, see {@link AlertAction}. */
  readonly minAttempts?: number
  readonly confidence?: number
}

/** The limits of the enabled rules. */
export type Thresholds = Readonly<Partial<Record<AlertRule, RuleLimit>>>

const defaultMinAttempts = 20

/** The evaluation of a rule. */
export interface Measured {
  /** Null without a measurement. */
  readonly value: number | null
  /** Whether the value exceeds the threshold; for a failure rate, of enough attempts, or by a sequential test. */
  readonly exceeds: boolean
  /** A sentence with the value and the threshold. */
  readonly reason: string
}

/**
 * Evaluates a rule for a queue. Times are those of the last one to two minutes. Pure.
 *
 * @param minutes attempts of the queue since the last alert of the rule was cleared, oldest first.
 */
export function measureRule(
  rule: AlertRule,
  { confidence, minAttempts = defaultMinAttempts, threshold }: RuleLimit,
  queue: SampledQueue,
  attempts: QueueAttempts | undefined,
  at: number,
  minutes: readonly MinuteCounts[],
): Measured {
  const recent = attempts === undefined ? noAttempts : sumAttempts([...attempts.minutes.values()])
  const count = recent.completed + recent.failed
  switch (rule) {
    case 'queue-size': {
      const size = sizeOf(queue)
      return { value: size, exceeds: size > threshold, reason: `${size} jobs are waiting; the threshold is ${threshold}` }
    }
    case 'oldest-waiting': {
      const ms = queue.oldestWaiting === null ? 0 : Math.max(0, at - queue.oldestWaiting)
      return { value: ms, exceeds: ms > threshold, reason: `The oldest job has waited for ${ms} ms; the threshold is ${threshold} ms` }
    }
    case 'processing-time': {
      const ms = averageOf(recent)
      const reason = `${count} attempts took ${Math.round(ms)} ms on average; the threshold is ${threshold} ms`
      return { value: count === 0 ? null : ms, exceeds: count > 0 && ms > threshold, reason }
    }
    case 'failure-rate': {
      const rate = count === 0 ? null : recent.failed / count
      const shown = `the threshold is ${percent(threshold)}`
      // Without recent failures there is no current problem.
      if (recent.failed === 0)
        return {
          value: rate,
          exceeds: false,
          reason: `${count === 0 ? 'No attempts ended' : `None of ${count} attempts failed`}; ${shown}`,
        }
      if (confidence === undefined) {
        const { attempts: all, failed } = recentFailures(minutes, minAttempts)
        const share = all === 0 ? null : failed / all
        const exceeds = all >= minAttempts && failed / all > threshold
        const few = all < minAttempts ? `, and it counts from ${minAttempts} attempts on` : ''
        const text = share === null ? 'No attempts ended' : `${failed} of ${all} attempts failed (${percent(share)})`
        return { value: share, exceeds, reason: `${text}; ${shown}${few}` }
      }
      const evidence = failureEvidence(minutes, threshold)
      const exceeds = evidence.log >= Math.log(falseAlarmMinutes(confidence))
      const { attempts: all, failed } = exceeds ? evidence : { attempts: count, failed: recent.failed }
      const since = exceeds && evidence.minutes > 2 ? ` of ${evidence.minutes} minutes` : ''
      return { value: rate, exceeds, reason: `${failed} of ${all} attempts${since} failed (${percent(failed / all)}); ${shown}` }
    }
  }
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`
}
