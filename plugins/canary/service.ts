import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Clock } from 'zin'
import type { Actor, Ops } from 'zin/plugins/ops'
import type { WorkerFeature, Workers, WorkerView } from 'zin/plugins/workers'
import type { Canaries, CanaryOptions, CanaryResult, CanaryView, StartCanary } from './contract.js'
import { canaryErrors } from './errors.js'
import type { Judgement } from './judge/index.js'
import { lookAt, recentOf, stableOf } from './looks.js'
import { isLive, isOfSameWorker, mayGo } from './machine.js'
import type { CanaryRecord, CanarySpec, CanaryState } from './record.js'
import type { Replays } from './replays.js'
import { replayText, stepsText } from './service-texts.js'
import { startPlan } from './start-input.js'
import type { CanarySteps, Worked } from './steps.js'
import type { CanaryStore } from './store/contract.js'
import type { Request, Transitions } from './transitions.js'
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
/** How often a replay checks whether the jobs that were running at the rollback have ended, in ms. */
const drainPollMs = 250
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
    this.#demandFeatures(view, spec)
    let last = await store.get(worker)
    if (last !== undefined && isLive(last)) {
      if (this.#isOf(last, view)) return this.#refuseSecond(last)
      // The worker was removed and created again before its canary had ended.
      await steps.abandon(last, this.#actorOf(options))
      last = await store.get(worker)
    }
    if (!force) await this.#demandNotRefused(worker, version)
    const now = clock.now()
    const actor = this.#actorOf(options)
    const reason = `Version ${version} gets ${stepsText(spec)}`
    const record: CanaryRecord = {
      id: randomUUID(),
      generation: 1,
      worker,
      workerCreatedAt: view.createdAt,
      stable: view.desiredVersion,
      canary: version,
      state: 'PENDING',
      spec,
      step: 0,
      time: { stepMs: 0, totalMs: 0, since: null },
      ...(await stableOf(workers, worker, view.desiredVersion, clock)),
      ...(await recentOf(workers, worker, view.desiredVersion, clock)),
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
    const started = [
      `The canary of worker "${worker}" is active: version ${version} gets ${stepsText(spec)}, and ${record.stable} the rest`,
      ...(view.features.metrics === false ? ['slow jobs are not compared, because "features.metrics" of the worker is false'] : []),
    ].join('; ')
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
    const record = await this.#move(worker, 'resume', ['RUNNING', 'PAUSED'], async (now) => {
      if (now.state === 'RUNNING') return undefined
      const isGate = now.pausedFor === 'gate' && now.step < now.spec.steps.length - 1
      return {
        to: 'RUNNING',
        actor: this.#actorOf(options),
        reason: isGate ? 'Resumed manually after the gate' : 'Resumed manually',
        ...(isGate ? { step: now.step + 1 } : {}),
        // Resuming an undecided canary restarts the time of its step.
        again: now.pausedFor !== 'manual',
        excused: await this.#excused(now),
      }
    })
    return this.#result({ record }, `The canary of worker "${worker}" is running`)
  }

  async promote(worker: string, options: CanaryOptions = {}): Promise<CanaryResult> {
    const live = await this.#live(worker)
    if (live.step >= live.spec.steps.length - 1) return this.complete(worker, options)
    const record = await this.#move(worker, 'promote', ['RUNNING', 'PAUSED'], async (now) => {
      // Someone else has gone to the next step meanwhile: going on would skip a step that nobody has seen.
      if (now.id !== live.id || now.step !== live.step) return undefined
      return {
        to: 'RUNNING',
        actor: this.#actorOf(options),
        reason: `Promoted manually to step ${now.step + 2}`,
        step: now.step + 1,
        excused: await this.#excused(now),
      }
    })
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

  async replay(worker: string, { waitMs = defaultWaitMs }: CanaryOptions = {}) {
    const { replays, store } = this.#parts
    const last = await this.#last(worker)
    const rolledBack = last.state === 'ROLLING_BACK' || last.state === 'ROLLED_BACK'
    const first = rolledBack ? await replays.later(last) : last
    await replays.run(first)
    let pending = rolledBack ? await this.#inFlight(last) : 0
    for (const until = performance.now() + waitMs; pending > 0 && performance.now() < until; pending = await this.#inFlight(last)) {
      await setTimeout(Math.min(drainPollMs, Math.max(1, until - performance.now())))
      await replays.run(first)
    }
    const now = await store.get(worker)
    const record = now?.id === last.id ? now : last
    const result = await this.#result({ record }, '')
    const replayed = Math.max(0, record.replayed - last.replayed)
    const left = Math.max(0, result.canary.casualties.recorded - record.replayed)
    return { ...result, message: replayText(record, { replayed, left, pending }), replayed, left, pending }
  }

  async status(worker: string): Promise<CanaryView> {
    return this.#view(await this.#last(worker))
  }

  async history(worker: string) {
    const record = await this.#last(worker)
    return { history: eventsOf(record), canaries: await this.#parts.store.past(worker) }
  }

  /** Applies a move to the stored canary, with retries on concurrent changes. `next` returns undefined to leave the canary unchanged. */
  async #move(
    worker: string,
    verb: string,
    allowed: readonly CanaryState[],
    next: (now: CanaryRecord) => Request | undefined | Promise<Request | undefined>,
  ): Promise<CanaryRecord> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const now = await this.#live(worker)
      if (!allowed.includes(now.state)) throw canaryErrors.CANARY_STATE(worker, verb, now.state, allowed.join(' or '))
      const move = await next(now)
      if (move === undefined) return now
      if (!mayGo(now.state, move.to)) throw canaryErrors.CANARY_STATE(worker, verb, now.state, allowed.join(' or '))
      const after = await this.#parts.transitions.go(now, move)
      if (after !== undefined) return after
    }
    throw canaryErrors.CANARY_CHANGED(`the canary of worker "${worker}"`)
  }

  async #live(worker: string): Promise<CanaryRecord> {
    const record = await this.#last(worker)
    if (isLive(record)) return record
    throw canaryErrors.NO_CANARY(worker)
  }

  /** Throws WORKER_NOT_FOUND, and NO_CANARY also if only an earlier worker of the same name had one. */
  async #last(worker: string): Promise<CanaryRecord> {
    const view = await this.#parts.workers.get(worker)
    const record = await this.#parts.store.get(worker)
    if (record === undefined || !this.#isOf(record, view)) throw canaryErrors.NO_CANARY(worker)
    return record
  }

  #isOf(record: CanaryRecord, { createdAt }: WorkerView): boolean {
    return isOfSameWorker(record, { ...record, workerCreatedAt: createdAt })
  }

  /** Returns the jobs so far of a canary that was paused for an outage, so that it is not paused for them again. */
  async #excused(record: CanaryRecord): Promise<Judgement['counts'] | undefined> {
    if (record.pausedFor !== 'inconclusive') return undefined
    return (await lookAt(record, this.#parts.store, this.#parts.clock.now())).judgement.counts
  }

  /** Returns how many jobs still run on the version, at most. */
  async #inFlight({ canary, worker }: CanaryRecord): Promise<number> {
    const nodes = await this.#parts.workers.nodesOf(worker)
    const living = nodes.filter(({ state }) => state !== 'unknown')
    return living.reduce((sum, { candidates = [], draining }) => {
      // A node that has not applied the rollback yet does not know.
      const ofCandidate = candidates.filter(({ version }) => version === canary).map(({ busy }) => Math.max(1, busy))
      return sum + (draining[canary] ?? 0) + (ofCandidate[0] ?? 0)
    }, 0)
  }

  /** Refuses what the features of the worker would turn off. */
  #demandFeatures({ features, name }: WorkerView, { inFlight, shield }: CanarySpec): void {
    if (features.versioning === false) throw canaryErrors.CANARY_FEATURE_OFF(name, 'versioning', 'no other version can be loaded')
    const needed = shield ? '"shield"' : inFlight === 'abort' ? '"inFlight": "abort"' : undefined
    if (features.plugins === false && needed !== undefined)
      throw canaryErrors.CANARY_FEATURE_OFF(name, 'plugins', `${needed} would have no effect`)
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
