import type { Clock, Gate, Logger, Notify, SlotOf } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import { type Decisions, errorText, type NewDecision } from 'zin/plugins/decisions'
import type { Actor } from 'zin/plugins/ops'
import { canaryErrors } from './errors.js'
import type { CanaryChange, CanarySubject } from './hooks.js'
import type { Judgement } from './judge/index.js'
import type { LocalCanaries } from './local-canaries.js'
import { type Move, moved, shareNow } from './machine.js'
import { canaryChanged } from './messages.js'
import { percentOf } from './next-act.js'
import type { CanaryRecord } from './record.js'
import type { CanaryStore } from './store/contract.js'

export interface TransitionsParts {
  readonly store: CanaryStore
  readonly cluster: Cluster
  readonly clock: Clock
  readonly log: Logger
  readonly local: () => LocalCanaries
  readonly decisions: () => Decisions | undefined
  readonly onCanaryChange: SlotOf<Notify<[change: CanaryChange]>>
  readonly beforeCanaryPromote: SlotOf<Gate<[canary: CanarySubject]>>
}

/** The actor of automatic actions. */
export const itself: Actor = { kind: 'plugin', id: 'canary', via: 'plugin' }

/** A move with a rule is an automatic action, which is recorded as a decision. */
export type Request = Omit<Move, 'at'>

/** Stores transitions of canaries and publishes them to nodes, hooks and decisions. */
export class Transitions {
  readonly #parts: TransitionsParts

  constructor(parts: TransitionsParts) {
    this.#parts = parts
  }

  /** Stores a transition. Returns undefined if the stored canary changed meanwhile. */
  async go(record: CanaryRecord, move: Request): Promise<CanaryRecord | undefined> {
    const after = moved(record, { ...move, at: this.#parts.clock.now() })
    if (!(await this.#parts.store.replace(after))) return undefined
    this.tell(record.state, after)
    if (move.rule !== undefined) this.#decide(record, after, move.rule, move)
    await this.publish(after)
    return after
  }

  /** Changes fields without a transition. */
  async amend(
    record: CanaryRecord,
    changes: Partial<Pick<CanaryRecord, 'slowMs' | 'replayed' | 'judgement' | 'replaysLater'>>,
  ): Promise<CanaryRecord | undefined> {
    const after: CanaryRecord = { ...record, ...changes, generation: record.generation + 1, updatedAt: this.#parts.clock.now() }
    if (!(await this.#parts.store.replace(after))) return undefined
    await this.publish(after)
    return after
  }

  /** Applies the record in this process immediately; other nodes read it on a message, or with their next poll. */
  async publish(record: CanaryRecord): Promise<void> {
    const { cluster, local, log } = this.#parts
    local().take(record)
    const { worker } = record
    await cluster
      .send(canaryChanged, { worker })
      .catch((error: unknown) => log.debug({ worker, err: error }, 'the other nodes could not be notified of a canary change'))
  }

  tell(from: CanaryRecord['state'] | null, record: CanaryRecord): void {
    const { log, onCanaryChange } = this.#parts
    const last = record.history.at(-1)
    if (last === undefined) return
    const { actor, at, evidence, reason, to } = last
    const { canary: version, id, worker } = record
    const errors = to === 'ROLLED_BACK' || to === 'PAUSED' ? (evidence?.errors?.canary ?? []) : []
    const why = errors.length === 0 ? '' : `. Most frequent errors of ${version}: ${errors.map(errorText).join('; ')}`
    const facts = { worker, version, canary: id, state: to, ...(errors.length === 0 ? {} : { errors }) }
    log[evidence?.verdict === 'FAIL' ? 'warn' : 'info'](facts, `canary of worker "${worker}", version ${version}: ${to}. ${reason}${why}`)
    if (onCanaryChange.active) onCanaryChange.call({ ...subjectOf(record), at: new Date(at).toISOString(), from, to, actor, reason })
  }

  /** Throws CANARY_PROMOTION_DENIED. */
  async demandPromotion(record: CanaryRecord): Promise<void> {
    const { beforeCanaryPromote } = this.#parts
    if (!beforeCanaryPromote.active) return
    const verdict = await beforeCanaryPromote.call(subjectOf(record))
    if (verdict.denied) throw verdict.error ?? canaryErrors.CANARY_PROMOTION_DENIED(record.worker, verdict.plugin, verdict.reason)
  }

  #decide(before: CanaryRecord, after: CanaryRecord, rule: string, { judgement, reason }: Omit<Move, 'at'>): void {
    const { decisions, log } = this.#parts
    const path = `/api/workers/${after.worker}/canary`
    try {
      decisions()?.record({
        kind: 'canary',
        subject: `worker:${after.worker}`,
        verdict: verdictOf(before, after),
        acted: true,
        reason: decisionText(after, reason),
        inputs: {
          canary: after.id,
          stable: after.stable,
          version: after.canary,
          trafficPercentage: percentOf(shareNow(after)),
          ...(judgement === undefined ? {} : inputsOf(after, judgement)),
        },
        rule,
        actor: itself,
        links: { canary: `${path}/status`, history: `${path}/history` },
      })
    } catch (error) {
      log.error({ worker: after.worker, err: error }, 'a decision about a canary could not be recorded')
    }
  }
}

export function subjectOf(record: CanaryRecord): CanarySubject {
  const { canary, id, stable, worker } = record
  return { id, worker, stable, canary, trafficPercentage: percentOf(shareNow(record)) }
}

/** Errors are by version: `{"2.0.0": [{class, message, count, example}]}`. */
function inputsOf({ canary, stable }: CanaryRecord, { counts, errors, health, verdict }: Judgement): NonNullable<NewDecision['inputs']> {
  const known = Object.entries({ [canary]: errors?.canary ?? [], [stable]: errors?.stable ?? [] }).filter(([, list]) => list.length > 0)
  return {
    verdict,
    health,
    counts,
    ...(known.length === 0
      ? {}
      : { errors: Object.fromEntries(known.map(([version, list]) => [version, list.map((one) => ({ ...one }))])) }),
  }
}

function verdictOf(before: CanaryRecord, after: CanaryRecord): string {
  if (after.state === 'RUNNING') return before.state === 'PENDING' ? 'started' : 'advanced'
  const verdicts = { PAUSED: 'paused', PROMOTING: 'promoted', ROLLING_BACK: 'rolled-back', FAILED_TO_START: 'not-started' }
  return (verdicts as Readonly<Record<string, string>>)[after.state] ?? after.state.toLowerCase()
}

/** Returns the text of a decision; for states whose reasons do not name the version, it is prefixed. */
function decisionText({ canary, stable, state }: CanaryRecord, reason: string): string {
  const text = reason.replaceAll(/\s+/g, ' ')
  const acts: Partial<Record<CanaryRecord['state'], string>> = {
    PAUSED: `The canary of version ${canary} is paused: `,
    PROMOTING: `Version ${canary} gets all jobs: `,
    ROLLING_BACK: `All jobs go back from version ${canary} to ${stable}: `,
  }
  const act = acts[state]
  return (act === undefined ? text : `${act}${text.charAt(0).toLowerCase()}${text.slice(1)}`).slice(0, 500)
}
