import type { Logger, NotifySlot } from 'zin'
import type { Decisions, Json } from 'zin/plugins/decisions'
import type { Actor } from 'zin/plugins/ops'
import type { Circuit } from './circuit.js'
import { sentenceOf } from './circuit-text.js'
import type { CircuitChange } from './contract.js'
import type { Transition } from './guards.js'
import type { Circuits } from './shared-circuits.js'

export interface AnnouncerOptions {
  readonly log: Logger
  readonly decisions: () => Decisions | undefined
  readonly onCircuitChange: NotifySlot<[change: CircuitChange]>
}

/** Publishes each change of a circuit to the log, the decisions and the hook. */
export class Announcer {
  readonly #options: AnnouncerOptions

  constructor(options: AnnouncerOptions) {
    this.#options = options
  }

  /** Publishes a change made by the rules. */
  transition({ worker, key, before, after, rules, evidence }: Transition): void {
    const rule = evidence?.rule ?? (after?.state === 'half-open' ? 'probe-time' : 'probes')
    const { rule: _, ...seen } = evidence ?? {}
    const { windowMs, openMs, maxOpenMs, ...limits } = rules
    const inputs = { ...seen, ...(after === undefined ? {} : { openings: after.openings }), windowMs, openMs, maxOpenMs, ...limits }
    this.#publish(worker, key, before, after, { reason: sentenceOf(before, after, rules), rule, inputs })
  }

  /** Publishes circuits that an operator closed. */
  reset(worker: string, closed: Circuits, actor: Actor | undefined): void {
    for (const [key, before] of Object.entries(closed)) {
      const { since, openings, reason: why } = before
      const inputs = { since: new Date(since).toISOString(), openings, why }
      this.#publish(worker, key, before, undefined, {
        reason: 'Closed by an operator',
        rule: 'reset',
        inputs,
        ...(actor === undefined ? {} : { actor }),
      })
    }
  }

  #publish(
    worker: string,
    key: string,
    before: Circuit | undefined,
    after: Circuit | undefined,
    fact: { readonly reason: string; readonly rule: string; readonly inputs: Readonly<Record<string, Json>>; readonly actor?: Actor },
  ): void {
    const { decisions, log, onCircuitChange } = this.#options
    const [from, to] = [before?.state ?? 'closed', after?.state ?? 'closed'] as const
    // Job names may contain any characters.
    const name = key.slice(0, 100).replaceAll(/[\p{C}\u2028\u2029]/gu, ' ')
    const reason = `${fact.reason}${key === '' ? '' : `, for jobs named "${name}"`}`
    log[to === 'open' ? 'warn' : 'info']({ worker, from, to }, `circuit of worker "${worker}": ${reason}`)
    decisions()?.record({
      kind: 'breaker',
      subject: `worker:${worker}`,
      verdict: to,
      acted: true,
      reason,
      inputs: { from, ...(key === '' ? {} : { jobName: name }), ...fact.inputs },
      rule: `breaker/${fact.rule}`,
      ...(fact.actor === undefined ? {} : { actor: fact.actor }),
      links: { circuit: `/api/workers/${worker}/circuit` },
    })
    if (!onCircuitChange.active) return
    const until = after?.state === 'open' ? { until: after.until } : {}
    onCircuitChange.call({ worker, ...(key === '' ? {} : { jobName: key }), from, to, reason, ...until })
  }
}
