import type { Logger, NotifySlot } from 'zin'
import type { Decisions } from 'zin/plugins/decisions'
import type { Kv } from 'zin/plugins/kv'
import type { Scope } from '../access/scope.js'
import type { Sample } from '../snapshot/snapshots.js'
import { evidenceMinutes, type MinuteCounts } from './failure-rate.js'
import { type AlertRule, alertRules, measureRule, type Thresholds } from './rules.js'

/** An alert of a queue that was raised or cleared. */
export interface QueueAlert {
  readonly queue: string
  readonly rule: AlertRule
  readonly state: 'raised' | 'cleared'
  /** The measured value; null without a measurement. */
  readonly value: number | null
  readonly threshold: number
  /** A sentence with the numbers. */
  readonly reason: string
  /** When it was raised or cleared; ISO 8601. */
  readonly at: string
}

export interface AlertsOptions {
  readonly kv: Kv
  readonly thresholds: Thresholds
  /** How long an alert is not raised again after it was cleared, in ms. */
  readonly coolDownMs: number
  /** The attempts of a queue by minute, oldest first; `at` is the start of the minute in ms. */
  readonly minutesOf: (queue: string) => readonly (MinuteCounts & { readonly at: number })[]
  readonly decisions: () => Decisions | undefined
  readonly onQueueAlert: NotifySlot<[alert: QueueAlert]>
  /** Delivers an alert that was raised or cleared. If it throws, the change is repeated with the next sample. */
  readonly deliver: (alert: QueueAlert) => Promise<void>
  readonly log: Logger
}

const key = 'monitor:alerts'
const keptMs = 86_400_000
/** How long cleared alerts are kept, so that earlier attempts are not counted as evidence again. */
const rememberedMs = evidenceMinutes * 60_000

/** The alerts of all queues: evaluated by the leader and stored for its successor and for readers on all nodes. */
export class Alerts {
  readonly #options: AlertsOptions
  #stored = ''

  constructor(options: AlertsOptions) {
    this.#options = options
  }

  /** Evaluates a sample on the leader: delivers, stores and reports changed alerts. */
  async observe({ attempts, snapshot: { at, queues } }: Sample): Promise<void> {
    const { coolDownMs, kv, thresholds } = this.#options
    const before = await this.#read()
    const after = new Map<string, QueueAlert>()
    const changes: QueueAlert[] = []
    for (const [queue, sampled] of Object.entries(queues)) {
      for (const rule of alertRules) {
        const limit = thresholds[rule]
        if (limit === undefined) continue
        const { threshold } = limit
        const last = before.get(`${queue} ${rule}`)
        if (sampled.broken !== undefined) {
          // Nothing is known about it: what was raised stays raised.
          if (last !== undefined) after.set(`${queue} ${rule}`, last)
          continue
        }
        const clearedAt = last?.state === 'cleared' ? Date.parse(last.at) : 0
        const oldest = limit.confidence === undefined ? at - rememberedMs : 0
        // Attempts that led to an alert do not count towards the next one.
        const minutes =
          rule === 'failure-rate'
            ? this.#options.minutesOf(queue).filter((minute) => minute.at > oldest && (clearedAt > at || minute.at > clearedAt))
            : []
        const { exceeds, reason, value } = measureRule(rule, limit, sampled, attempts.get(queue), at, minutes)
        const change = (state: QueueAlert['state']): QueueAlert => {
          const changed = { queue, rule, state, value, threshold, reason, at: new Date(at).toISOString() }
          changes.push(changed)
          return changed
        }
        // A time far ahead was written by a clock that has since gone back.
        const cools = last?.state === 'cleared' && Math.abs(at - clearedAt) < coolDownMs
        if (last?.state === 'raised') {
          const isOver = value === null || value <= threshold
          after.set(`${queue} ${rule}`, isOver ? change('cleared') : { ...last, value, reason })
        } else if (exceeds && !cools) after.set(`${queue} ${rule}`, change('raised'))
        else if (last !== undefined && (cools || at - clearedAt < rememberedMs)) after.set(`${queue} ${rule}`, last)
      }
    }
    // Delivered before storing, so that no alert is lost if the node fails in between.
    for (const alert of changes) await this.#options.deliver(alert)
    const text = JSON.stringify([...after.values()])
    if (text !== this.#stored) await kv.set(key, text, { ttlMs: keptMs })
    this.#stored = text
    for (const alert of changes) this.#report(alert)
  }

  /** Returns the active alerts of the queues the caller can see. One round trip. */
  async active(scope: Scope): Promise<readonly QueueAlert[]> {
    return [...(await this.#read()).values()].filter(({ queue, state }) => state === 'raised' && scope.sees(queue))
  }

  async #read(): Promise<ReadonlyMap<string, QueueAlert>> {
    const text = await this.#options.kv.get(key)
    const alerts = text === null ? [] : (JSON.parse(text) as readonly QueueAlert[])
    return new Map(alerts.map((alert) => [`${alert.queue} ${alert.rule}`, alert]))
  }

  #report(alert: QueueAlert): void {
    const { decisions, log, onQueueAlert } = this.#options
    const { queue, reason, rule, state, threshold, value } = alert
    log[state === 'raised' ? 'warn' : 'info']({ queue, rule }, `alert ${rule} of queue "${queue}" ${state}: ${reason}`)
    decisions()?.record({
      kind: 'alert',
      subject: `queue:${queue}`,
      verdict: state,
      acted: true,
      reason,
      inputs: { value, threshold },
      rule: `queue-monitor/${rule}`,
      links: { queue: `/api/queue/${queue}/stats` },
    })
    if (onQueueAlert.active) onQueueAlert.call(alert)
  }
}
