import { randomUUID } from 'node:crypto'
import type { Clock } from 'zin'
import type { Actor, Ops } from 'zin/plugins/ops'
import type { WorkerFeature, Workers } from 'zin/plugins/workers'
import type { Canaries, CanaryOptions, CanaryResult, CanaryView, StartCanary } from './contract.js'
import { canaryErrors } from './errors.js'
import { lookAt, stableOf } from './looks.js'
import { isLive, mayGo } from './machine.js'
import type { CanaryRecord, CanaryState } from './record.js'
import type { Replays } from './replays.js'
import { startPlan } from './start-input.js'
import type { CanarySteps, Worked } from './steps.js'
import type { CanaryStore } from './store/contract.js'
import type { Transitions } from './transitions.js'
import { canaryView, eventsOf } from './view.js'

export interface ServiceParts {
  /** Acts on behalf of this plugin. */
  readonly workers: Workers
  readonly feature: Pick<WorkerFeature, 'feature'>
  readonly store: CanaryStore
  readonly transitions: Transitions
  readonly steps: CanarySteps
  readonly replays: Replays
  readonly ops: Pick<Ops, 'actor'>
  readonly clock: Clock
}

const defaultWaitMs = 10_000
const tries = 5
/** The actor for calls outside of requests. */
const app: Actor = { kind: 'plugin', id: 'app', via: 'plugin' }

/** The public service: validates requests and moves canaries between states. */
export class CanaryService implements Canaries {
  readonly #parts: ServiceParts

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  async start(worker: string, input: StartCanary, options: CanaryOptions = {}): Promise<CanaryResult> {
    const { clock, steps, store, transitions, workers } = this.#parts
    const view = await workers.get(worker)
    const { force, spec, version } = startPlan(input)
    await this.#demandVersion(worker, view.desiredVersion, version)
    if (view.features[this.#parts.feature.feature] === false) throw canaryErrors.CANARY_OFF(worker)
    if (!view.activeStatus)
      throw canaryErrors.CANARY_WORKER_NOT_RUNNING(worker, 'inactive', 'set its activeStatus to true and start it first')
    if (view.state === 'stopped' || view.state === 'FAILED' || view.state === 'stopping')
      throw canaryErrors.CANARY_WORKER_NOT_RUNNING(worker, view.state, `start it first with POST /api/workers/${worker}/start`)
    const last = await store.get(worker)
    if (last !== undefined && isLive(last)) return this.#refuseSecond(last)
    if (!force) await this.#demandNotRefused(worker, version)
    const now = clock.now()
    const actor = this.#actorOf(options)
    const target = Math.max(...spec.steps.map(({ share }) => share))
    const reason = `Version ${version} gets up to ${Number((target * 100).toPrecision(6))} % of the jobs in ${spec.steps.length} steps`
    const record: CanaryRecord = {
      id: randomUUID(),
      generation: 1,
      worker,
      stable: view.desiredVersion,
      canary: version,
      state: 'PENDING',
      spec,
      step: 0,
      time: { stepMs: 0, totalMs: 0, since: null },
      ...(await stableOf(workers, worker, view.desiredVersion, clock)),
      replayed: 0,
      startedAt: now,
      updatedAt: now,
      history: [{ at: now, from: null, to: 'PENDING', actor, reason }],
    }
    if (!(await store.insert(record, last))) {
      const faster = await store.get(worker)
      if (faster !== undefined && isLive(faster)) return this.#refuseSecond(faster)
      throw canaryErrors.CANARY_CHANGED(`the canary of worker "${worker}"`)
    }
    transitions.tell(null, record)
    await transitions.publish(record)
    const worked = await steps.begin(record, options.waitMs ?? defaultWaitMs)
    const started = `The canary of worker "${worker}" is active: version ${version} against stable version ${record.stable}`
    return this.#result(worked, worked.record.state === 'PENDING' ? `${started}; it gets jobs once every node has loaded it` : started)
  }

  async pause(worker: string, options: CanaryOptions = {}): Promise<CanaryResult> {
    const record = await this.#move(worker, 'pause', ['RUNNING', 'PAUSED'], (now) =>
      now.state === 'PAUSED' && now.pausedFor === 'manual'
        ? undefined
        : {
            to: 'PAUSED',
            pausedFor: 'manual',
            actor: this.#actorOf(options),
            reason: 'Paused manually; the share of the jobs is unchanged',
          },
    )
    return this.#result({ record }, `The canary of worker "${worker}" is paused and keeps its share of the jobs`)
  }

  async resume(worker: string, options: CanaryOptions = {}): Promise<CanaryResult> {
    const record = await this.#move(worker, 'resume', ['RUNNING', 'PAUSED'], (now) => {
      if (now.state === 'RUNNING') return undefined
      const isGate = now.pausedFor === 'gate' && now.step < now.spec.steps.length - 1
      return {
        to: 'RUNNING',
        actor: this.#actorOf(options),
        reason: isGate ? 'Resumed manually after the gate' : 'Resumed manually',
        ...(isGate ? { step: now.step + 1 } : {}),
        // Resuming an undecided canary restarts the time of its step.
        again: now.pausedFor !== 'manual',
      }
    })
    return this.#result({ record }, `The canary of worker "${worker}" is running`)
  }

  async promote(worker: string, options: CanaryOptions = {}): Promise<CanaryResult> {
    const live = await this.#live(worker)
    if (live.step >= live.spec.steps.length - 1) return this.complete(worker, options)
    const record = await this.#move(worker, 'promote', ['RUNNING', 'PAUSED'], (now) => ({
      to: 'RUNNING',
      actor: this.#actorOf(options),
      reason: `Promoted manually to step ${now.step + 2}`,
      step: Math.min(now.step + 1, now.spec.steps.length - 1),
    }))
    return this.#result({ record }, `The canary of worker "${worker}" is in step ${record.step + 1} of ${record.spec.steps.length}`)
  }

  async complete(worker: string, options: CanaryOptions = {}): Promise<CanaryResult> {
    const { steps, transitions } = this.#parts
    const live = await this.#live(worker)
    if (live.state === 'RUNNING' || live.state === 'PAUSED') await transitions.demandPromotion(live)
    const record = await this.#move(worker, 'complete', ['RUNNING', 'PAUSED', 'PROMOTING'], (now) =>
      now.state === 'PROMOTING' ? undefined : { to: 'PROMOTING', actor: this.#actorOf(options), reason: 'Completed manually' },
    )
    const worked = await steps.promote(record, options.waitMs ?? defaultWaitMs)
    const done = worked.record.state === 'SUCCEEDED'
    return this.#result(worked, `Version ${record.canary} of worker "${worker}" ${done ? 'gets all jobs' : `is ${worked.record.state}`}`)
  }

  async rollback(worker: string, options: CanaryOptions & { readonly reason?: string } = {}): Promise<CanaryResult> {
    const live = await this.#move(worker, 'rollback', ['PENDING', 'RUNNING', 'PAUSED', 'PROMOTING', 'ROLLING_BACK'], (now) =>
      now.state === 'ROLLING_BACK'
        ? undefined
        : { to: 'ROLLING_BACK', actor: this.#actorOf(options), reason: options.reason ?? 'Rolled back manually' },
    )
    const worked = await this.#parts.steps.rollBack(live, options.waitMs ?? defaultWaitMs)
    return this.#result(worked, `The canary of worker "${worker}" is rolled back to version ${live.stable}`)
  }

  async replay(worker: string) {
    await this.#parts.workers.get(worker)
    const { record, replayed, left } = await this.#parts.replays.run(await this.#last(worker))
    const jobs = `${replayed} ${replayed === 1 ? 'job' : 'jobs'}`
    const rest = left === 0 ? '' : `; ${left} were no longer failed or no longer kept`
    const result = await this.#result({ record }, `${jobs} of worker "${worker}" run again on version ${record.stable}${rest}`)
    return { ...result, replayed, left }
  }

  async status(worker: string): Promise<CanaryView> {
    await this.#parts.workers.get(worker)
    return this.#view(await this.#last(worker))
  }

  async history(worker: string) {
    await this.#parts.workers.get(worker)
    const record = await this.#last(worker)
    return { history: eventsOf(record), canaries: await this.#parts.store.past(worker) }
  }

  /** Applies a move to the stored canary, with retries on concurrent changes. `next` returns undefined to leave the canary unchanged. */
  async #move(
    worker: string,
    verb: string,
    allowed: readonly CanaryState[],
    next: (now: CanaryRecord) => Parameters<Transitions['go']>[1] | undefined,
  ): Promise<CanaryRecord> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const now = await this.#live(worker)
      if (!allowed.includes(now.state)) throw canaryErrors.CANARY_STATE(worker, verb, now.state, allowed.join(' or '))
      const move = next(now)
      if (move === undefined) return now
      if (!mayGo(now.state, move.to)) throw canaryErrors.CANARY_STATE(worker, verb, now.state, allowed.join(' or '))
      const after = await this.#parts.transitions.go(now, move)
      if (after !== undefined) return after
    }
    throw canaryErrors.CANARY_CHANGED(`the canary of worker "${worker}"`)
  }

  async #live(worker: string): Promise<CanaryRecord> {
    const record = await this.#parts.store.get(worker)
    if (record !== undefined && isLive(record)) return record
    // Throws WORKER_NOT_FOUND for an unknown worker.
    await this.#parts.workers.get(worker)
    throw canaryErrors.NO_CANARY(worker)
  }

  async #last(worker: string): Promise<CanaryRecord> {
    const record = await this.#parts.store.get(worker)
    if (record === undefined) throw canaryErrors.NO_CANARY(worker)
    return record
  }

  async #refuseSecond({ canary, state, worker }: CanaryRecord): Promise<never> {
    await this.#parts.store.mark(worker)
    throw canaryErrors.CANARY_IN_PROGRESS(worker, canary, state)
  }

  async #demandVersion(worker: string, active: string, version: string): Promise<void> {
    if (version === active)
      throw canaryErrors.INVALID_CANARY_VERSION(
        `"newVersion" is ${version}, which is already the active version of worker "${worker}"; name another version`,
      )
    const versions = await this.#parts.workers.versions(worker)
    if (versions.some((known) => known.version === version)) return
    throw canaryErrors.INVALID_CANARY_VERSION(
      `Worker "${worker}" has no version ${version}; register it first with POST /api/workers/${worker}/versions`,
    )
  }

  async #demandNotRefused(worker: string, version: string): Promise<void> {
    const known = (await this.#parts.workers.versions(worker)).find((one) => one.version === version)
    const { refused } = known ?? {}
    if (refused !== undefined) throw canaryErrors.CANARY_VERSION_REFUSED(worker, version, refused.by, refused.reason)
  }

  #actorOf({ actor }: CanaryOptions): Actor {
    return actor ?? this.#parts.ops.actor() ?? app
  }

  async #result({ operation, record }: Worked, message: string): Promise<CanaryResult> {
    return { message, canary: await this.#view(record), ...(operation === undefined ? {} : { operation }) }
  }

  async #view(record: CanaryRecord): Promise<CanaryView> {
    const { clock, store } = this.#parts
    const [judgement, casualties] = await Promise.all([
      record.judgement ?? lookAt(record, store, clock.now()).then((look) => look.judgement),
      store.casualties(record.id),
    ])
    return canaryView(record, judgement, casualties.length)
  }
}
