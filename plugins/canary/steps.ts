import { messageOf, ZinError } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { OperationResult, Workers, WorkerView } from 'zin/plugins/workers'
import type { Judgement } from './judge/index.js'
import { lookAt } from './looks.js'
import { pauseTimeout, percentOf } from './next-act.js'
import type { CanaryRecord } from './record.js'
import type { Replays } from './replays.js'
import type { CanaryStore } from './store/contract.js'
import { itself, type Transitions } from './transitions.js'

export interface StepsParts {
  /** Acts on behalf of this plugin. */
  readonly workers: Workers
  readonly store: CanaryStore
  readonly transitions: Transitions
  readonly replays: Replays
  readonly now: () => number
}

type Operation = OperationResult['operation']

const removed = 'The worker was removed'

/** The canary after some work, and the operation that was requested of the nodes. */
export interface Worked {
  readonly record: CanaryRecord
  readonly operation?: Operation
}

/**
 * Moves a canary through its transient states. Each step is idempotent: a request starts it, and the leader continues it if that process
 * dies. Concurrent changes by another process are kept.
 */
export class CanarySteps {
  readonly #parts: StepsParts

  constructor(parts: StepsParts) {
    this.#parts = parts
  }

  /** Loads the version on the nodes of the worker. Throws if it cannot be loaded. */
  async begin(record: CanaryRecord, waitMs: number): Promise<Worked> {
    const { workers } = this.#parts
    try {
      const { operation } = await workers.setCandidates(record.worker, [record.canary], { waitMs })
      if (operation.state !== 'applied' || operation.targets.length === 0) return { record, operation }
      return { record: await this.#started(record, operation.applied.length), operation }
    } catch (error) {
      if (isPassing(error)) throw error
      await this.failToStart(record, messageOf(error))
      throw error
    }
  }

  /** Called by the leader for a canary that has not started yet. */
  async awaitStart(record: CanaryRecord): Promise<CanaryRecord> {
    const nodes = (await this.#parts.workers.nodesOf(record.worker)).filter(({ state, version }) => state === 'running' && version !== null)
    const told = nodes.map(({ candidates = [], node }) => ({ node, found: candidates.find(({ version }) => version === record.canary) }))
    const broken = told.find(({ found }) => found?.error !== undefined)
    if (broken !== undefined) return this.failToStart(record, `${broken.node}: ${broken.found?.error}`)
    if (told.length > 0 && told.every(({ found }) => found !== undefined)) return this.#started(record, told.length)
    const waited = this.#parts.now() - record.startedAt
    if (waited >= record.spec.startTimeoutMs)
      return this.failToStart(record, `Not every node loaded version ${record.canary} within ${Math.round(waited / 1000)} s`)
    // The process that handled the request may have died before it requested the load.
    if (told.every(({ found }) => found === undefined)) return (await this.begin(record, 0).catch(() => ({ record }))).record
    return record
  }

  async failToStart(record: CanaryRecord, reason: string): Promise<CanaryRecord> {
    const { transitions } = this.#parts
    const after = await transitions.go(record, { to: 'FAILED_TO_START', actor: itself, reason, rule: 'canary/start' })
    if (after !== undefined) await this.#withoutCandidate(after, 0)
    return this.#now(record, after)
  }

  /** Activates the version on all nodes. */
  async promote(record: CanaryRecord, waitMs: number): Promise<Worked> {
    const { transitions, workers } = this.#parts
    const { canary, spec, worker } = record
    const view = await this.workerOf(record)
    if (view === undefined) {
      await this.abandon(record, itself)
      return { record: await this.#now(record) }
    }
    if (view.desiredVersion === canary && view.rollout === undefined) return { record: await this.#succeeded(record) }
    if (view.desiredVersion === canary && view.rollout?.state === 'rolling') return { record }
    try {
      const { operation } = await workers.activate(worker, canary, { force: true, waitMs })
      return { record: operation.state === 'applied' ? await this.#succeeded(record) : record, operation }
    } catch (error) {
      if (isPassing(error)) throw error
      const reason = `Version ${canary} could not be activated: ${messageOf(error)}`
      if (!spec.autoRollback) {
        // The canary keeps its share of the jobs, so the stable version must be the active one.
        await ignoreMissing(() => this.#activateStable(record, waitMs))
        await workers.setCandidates(worker, [canary], { waitMs: 0 }).catch(() => undefined)
        const move = { to: 'PAUSED', pausedFor: 'nodes-missing', actor: itself, reason, rule: 'canary/promotion' } as const
        return { record: await this.#now(record, await transitions.go(record, move)) }
      }
      const after = await transitions.go(record, { to: 'ROLLING_BACK', actor: itself, reason, rule: 'canary/promotion' })
      return after === undefined ? { record: await this.#now(record) } : await this.rollBack(after, waitMs)
    } finally {
      await this.#keepRolledBack(record, waitMs)
    }
  }

  /** Restores the stable version if another process rolled back while this one activated the version. */
  async #keepRolledBack({ canary, id, worker }: CanaryRecord, waitMs: number): Promise<void> {
    const now = await this.#parts.store.get(worker)
    if (now?.id !== id || (now.state !== 'ROLLING_BACK' && now.state !== 'ROLLED_BACK')) return
    await ignoreMissing(async () => {
      if ((await this.workerOf(now))?.desiredVersion === canary) await this.#toStable(now, await this.#judgement(now), waitMs)
    })
  }

  /** Returns the worker of a canary; undefined if it was removed, even if there is a later one of the same name. */
  async workerOf({ worker, workerCreatedAt }: CanaryRecord): Promise<WorkerView | undefined> {
    const view = await ignoreMissing(() => this.#parts.workers.get(worker))
    return workerCreatedAt === undefined || view?.createdAt === workerCreatedAt ? view : undefined
  }

  async #activateStable(record: CanaryRecord, waitMs: number): Promise<void> {
    const { canary, stable, worker } = record
    if ((await this.workerOf(record))?.desiredVersion === canary)
      await this.#parts.workers.activate(worker, stable, { force: true, waitMs })
  }

  /** Gives all jobs to the stable version and marks the other one as refused, unless only the time of a pause is over. */
  async #toStable(record: CanaryRecord, { counts, errors, health, rule, verdict }: Judgement, waitMs: number): Promise<void> {
    const { workers } = this.#parts
    const { canary, history, id, worker } = record
    const why = history.findLast(({ to }) => to === 'ROLLING_BACK')
    await this.#activateStable(record, waitMs)
    if (why?.rule === pauseTimeout) return
    const evidence = { canary: id, at: why?.at, verdict, rule, health, counts, errors }
    await workers.refuseVersion(worker, canary, { reason: (why?.reason ?? 'Rolled back').slice(0, 500), evidence })
  }

  /** Removes the version from all nodes and records the reason. */
  async rollBack(record: CanaryRecord, waitMs: number): Promise<Worked> {
    const { replays, store, transitions } = this.#parts
    const { spec, stable, worker } = record
    const judgement = await this.#judgement(record)
    const operation = await ignoreMissing(async () => {
      if ((await this.workerOf(record)) === undefined) return undefined
      await this.#toStable(record, judgement, waitMs)
      return this.#withoutCandidate(record, waitMs)
    })
    const reason = operation === undefined ? removed : `All jobs go to version ${stable}`
    const after = await transitions.go(record, { to: 'ROLLED_BACK', actor: itself, reason, judgement })
    const now = await this.#now(record, after)
    if (after !== undefined && spec.autoReplay) await replays.run(after).catch(() => undefined)
    return {
      record: after !== undefined && spec.autoReplay ? ((await store.get(worker)) ?? now) : now,
      ...(operation === undefined ? {} : { operation }),
    }
  }

  /** Ends the canary of a removed worker. */
  async abandon(record: CanaryRecord, actor: Actor): Promise<void> {
    const { transitions } = this.#parts
    const rolling =
      record.state === 'ROLLING_BACK'
        ? record
        : await transitions.go(record, { to: 'ROLLING_BACK', actor, reason: removed, rule: 'canary/removed' })
    if (rolling !== undefined) await this.rollBack(rolling, 0)
  }

  async #started(record: CanaryRecord, nodes: number): Promise<CanaryRecord> {
    const percent = record.spec.steps[0]?.share ?? 0
    const where = nodes === 1 ? 'its node has' : `all ${nodes} nodes have`
    const reason = `Version ${record.canary} gets ${percentOf(percent)} % of the jobs and ${record.stable} the rest: ${where} loaded it`
    return this.#now(record, await this.#parts.transitions.go(record, { to: 'RUNNING', actor: itself, reason, rule: 'canary/start' }))
  }

  async #succeeded(record: CanaryRecord): Promise<CanaryRecord> {
    const judgement = await this.#judgement(record)
    const reason = `All nodes run their jobs on version ${record.canary}`
    return this.#now(record, await this.#parts.transitions.go(record, { to: 'SUCCEEDED', actor: itself, reason, judgement }))
  }

  async #judgement(record: CanaryRecord): Promise<Judgement> {
    return (await lookAt(record, this.#parts.store, this.#parts.now())).judgement
  }

  async #withoutCandidate({ worker }: CanaryRecord, waitMs: number): Promise<Operation | undefined> {
    return ignoreMissing(async () => (await this.#parts.workers.setCandidates(worker, [], { waitMs })).operation)
  }

  /** Returns the stored record if another process changed it first. */
  async #now(record: CanaryRecord, after?: CanaryRecord): Promise<CanaryRecord> {
    return after ?? (await this.#parts.store.get(record.worker)) ?? record
  }
}

/** Whether an error is transient (the store is unavailable, or the worker was changed concurrently), so that the leader retries. */
function isPassing(error: unknown): boolean {
  return error instanceof ZinError && (error.status >= 500 || error.code === 'WORKER_CHANGED')
}

/** Resolves to undefined if the worker was removed. */
export async function ignoreMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ZinError && error.code === 'WORKER_NOT_FOUND') return undefined
    throw error
  }
}
