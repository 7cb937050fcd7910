import { type Clock, type Logger, messageOf } from 'zin'
import type { Decisions } from 'zin/plugins/decisions'
import type { NodeView, Workers, WorkerView } from 'zin/plugins/workers'
import { type AutoScalerConfig, autoScaling } from './feature.js'
import type { ScaleEvent } from './hooks.js'
import { direction, perNode } from './recommend/change.js'
import { limitsAt, type PolicyInput, policyOf } from './recommend/policy.js'
import { type Known, type PastEvaluation, type Recommendation, recommend, remember, type Signals } from './recommend/recommend.js'
import { actingConcurrency, readSignals, type SignalSources } from './signals.js'
import type { StoredStatus } from './status-store.js'

export interface ScalerParts extends SignalSources {
  readonly decisions: Decisions
  readonly clock: Clock
  readonly log: Logger
  readonly policy: PolicyInput
  /** Evaluation interval of workers without their own, in ms. */
  readonly intervalMs: number
  readonly dryRun: boolean
  readonly onScale: (event: ScaleEvent) => void
}

interface Watched {
  /** Monotonic time in ms. */
  dueAt: number
  history: readonly PastEvaluation[]
  status?: StoredStatus
  decisionId: string | null
  /** Concurrency that a dry run recorded last, so that it is recorded only once. */
  recorded?: number
}

/** Maximum number of workers that are scaled. */
const mostWorkers = 1000
/** A timer may fire this early. */
const earlyMs = 50

/** Evaluates and scales workers, each at its interval. Runs on the leader only. */
export class Scaler {
  readonly #parts: ScalerParts
  readonly #watched = new Map<string, Watched>()
  #known: ReadonlyMap<string, Known> | undefined

  constructor(parts: ScalerParts) {
    this.#parts = parts
  }

  /** Whether an evaluation of a known worker is due. */
  get isDue(): boolean {
    const now = this.#parts.clock.monotonic()
    return [...this.#watched.values()].some(({ dueAt }) => dueAt <= now + earlyMs)
  }

  get statuses(): readonly StoredStatus[] {
    return [...this.#watched.values()].flatMap(({ status }) => status ?? [])
  }

  /** Clears all state when another process leads. */
  reset(): void {
    this.#watched.clear()
    this.#known = undefined
  }

  /** Whether the statuses of the previous leader are not known yet. */
  get isNew(): boolean {
    return this.#known === undefined
  }

  /** Continues from the statuses of the previous leader. */
  follow(statuses: readonly StoredStatus[]): void {
    this.#known = new Map(statuses.map((status) => [status.worker, status]))
  }

  /** Evaluates the given workers that are due. */
  async run(all: readonly WorkerView[], nodes: readonly NodeView[]): Promise<void> {
    const { clock, log } = this.#parts
    const scaled = all.flatMap((view) => this.#configOf(view) ?? []).slice(0, mostWorkers)
    const names = new Set(scaled.map(({ view }) => view.name))
    for (const name of this.#watched.keys()) if (!names.has(name)) this.#watched.delete(name)
    const now = clock.monotonic()
    const due = scaled.filter(({ view }) => (this.#watched.get(view.name)?.dueAt ?? 0) <= now + earlyMs)
    if (due.length === 0) return
    const signals = await readSignals(
      this.#parts,
      due.map(({ view }) => view),
      nodes,
      clock.now(),
    )
    for (const { config, view } of due) {
      const seen = signals.get(view.name)
      const watched = this.#watched.get(view.name) ?? { dueAt: 0, history: [], decisionId: null }
      this.#watched.set(view.name, watched)
      watched.dueAt = now + (config.evaluationInterval ?? this.#parts.intervalMs)
      if (seen === undefined) continue
      try {
        await this.#evaluate(view, config, seen, watched)
      } catch (error) {
        log.warn({ err: error, worker: view.name }, `worker "${view.name}" could not be scaled; retrying: ${messageOf(error)}`)
      }
    }
  }

  #configOf(view: WorkerView): { readonly view: WorkerView; readonly config: AutoScalerConfig } | undefined {
    if (!autoScaling.isOn(view) || view.desired !== 'running' || view.paused) return undefined
    try {
      const config = autoScaling.of(view)
      return config?.enabled === true ? { view, config } : undefined
    } catch (error) {
      this.#parts.log.warn({ err: error, worker: view.name }, messageOf(error))
      return undefined
    }
  }

  async #evaluate(view: WorkerView, config: AutoScalerConfig, seen: Signals, watched: Watched): Promise<void> {
    const { dryRun, log, policy, workers } = this.#parts
    const { enabled: _, evaluationInterval: __, regions: ___, ...configured } = config
    const limits = limitsAt(configured, policy, seen.at)
    const act = policyOf(policy)
    let signals = seen
    const known = watched.history.at(-1) ?? this.#known?.get(view.name)
    let found = recommend(signals, limits, act, watched.history, known)
    if (found.target < signals.current && (await hasCandidates(workers, view.name))) {
      signals = { ...seen, canary: true }
      found = recommend(signals, limits, act, watched.history, known)
    }
    const { at, backlog, current } = signals
    log.debug({ worker: view.name, signals, limits, recommendation: found }, `worker "${view.name}" was evaluated: ${found.reason}`)
    watched.history = remember(watched.history, signals, found, act)
    const concurrency = perNode(found, signals)
    const changes = direction(found, signals, concurrency, actingConcurrency(view), known !== undefined && signals.nodes > known.nodes)
    const isScaled = changes !== undefined && !dryRun
    if (isScaled) await workers.scale(view.name, concurrency, { reason: found.reason, waitMs: 0 })
    if (changes !== undefined && (isScaled || watched.recorded !== concurrency)) {
      watched.recorded = concurrency
      watched.decisionId = this.#record(view.name, found, signals, { verdict: changes, concurrency }).id
      if (isScaled) this.#publish(view.name, found, signals, { direction: changes, concurrency, decisionId: watched.decisionId })
    } else if (changes === undefined) delete watched.recorded
    watched.status = {
      worker: view.name,
      desired: found.desired,
      target: found.target,
      current: Math.round((isScaled ? (concurrency * signals.nodes) / signals.concurrency : current) * 100) / 100,
      reason: found.reason,
      backlog,
      running: signals.active,
      queueAgeSeconds: Math.round((signals.queueAgeSeconds ?? watched.status?.queueAgeSeconds ?? 0) * 10) / 10,
      dryRun,
      decisionId: watched.decisionId,
      at: new Date(at).toISOString(),
      queueName: view.queueName,
      concurrency: view.concurrency,
      present: found.present,
      asked: found.asked,
      nodes: found.nodes,
      longest: found.longest,
    }
  }

  #record(
    worker: string,
    found: Recommendation,
    signals: Signals,
    scale: { readonly verdict: 'up' | 'down'; readonly concurrency: number },
  ) {
    const { decisions, dryRun } = this.#parts
    const { at: _, ...inputs } = signals
    return decisions.record({
      kind: 'scale',
      subject: `worker:${worker}`,
      verdict: scale.verdict,
      acted: !dryRun,
      reason: `From ${Math.round(signals.current * 100) / 100} to ${workersText(found.target)}: ${found.reason}`.slice(0, 500),
      inputs: { ...inputs, target: found.target, desired: found.desired, needed: found.needed, perProcess: scale.concurrency },
      rule: `autoscale/${found.rule}`,
      links: { autoscale: `/api/workers/${worker}/autoscale` },
    })
  }

  #publish(
    worker: string,
    { target: to, reason }: Recommendation,
    { current: from }: Signals,
    more: Pick<ScaleEvent, 'direction' | 'concurrency' | 'decisionId'>,
  ): void {
    this.#parts.onScale({ worker, from, to, reason, ...more })
  }
}

const workersText = (count: number): string => `${count} ${count === 1 ? 'worker' : 'workers'}`

/** Whether versions run alongside the active one, as during a canary. Called only before workers are removed. */
async function hasCandidates(workers: Workers, name: string): Promise<boolean> {
  return (await workers.nodesOf(name)).some(({ candidates = [] }) => candidates.length > 0)
}
