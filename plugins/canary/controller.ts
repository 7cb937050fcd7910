import { type Clock, type Logger, messageOf, ZinError } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Workers } from 'zin/plugins/workers'
import { earlyLookGapMs } from './judge/index.js'
import { lookAt, stableOf } from './looks.js'
import { isLive } from './machine.js'
import { canaryAlarm } from './messages.js'
import { type Act, nextAct } from './next-act.js'
import type { CanaryRecord } from './record.js'
import type { CanarySteps } from './steps.js'
import type { CanaryStore } from './store/contract.js'
import { itself, type Transitions } from './transitions.js'

export interface ControllerParts {
  readonly store: CanaryStore
  readonly workers: Workers
  readonly cluster: Cluster
  readonly transitions: Transitions
  readonly steps: CanarySteps
  readonly clock: Clock
  readonly log: Logger
}

const role = 'canary'

/** Evaluates every live canary on the leader. Evaluations of the same canary run one at a time. */
export class Controller {
  readonly #parts: ControllerParts
  readonly #looks = new Map<string, { last: Promise<void>; at: number; waits: NodeJS.Timeout | undefined }>()
  #leadership: Leadership | undefined
  #stopAlarms: () => void = () => undefined
  #closed = false
  #down = false

  constructor(parts: ControllerParts) {
    this.#parts = parts
  }

  open(): void {
    const { cluster } = this.#parts
    this.#leadership = cluster.lead(role, { onGain: () => void this.lookAtAll() })
    this.#stopAlarms = cluster.on(canaryAlarm, ({ worker }) => this.#lookSoon(worker))
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopAlarms()
    for (const { waits } of this.#looks.values()) clearTimeout(waits)
    await Promise.all([...this.#looks.values()].map(({ last }) => last))
    await this.#leadership?.resign()
  }

  /** Evaluates all live canaries. Never rejects. */
  async lookAtAll(): Promise<void> {
    if (!this.#leads) return
    const { log, store } = this.#parts
    try {
      const live = await store.live()
      for (const worker of this.#looks.keys()) if (!live.some((record) => record.worker === worker)) this.#looks.delete(worker)
      await Promise.all(live.map(({ worker }) => this.#look(worker)))
      this.#down = false
    } catch (error) {
      if (!this.#down) log.warn({ err: error }, `the canaries could not be evaluated; retrying: ${messageOf(error)}`)
      this.#down = true
    }
  }

  get #leads(): boolean {
    return !this.#closed && this.#leadership?.leads === true
  }

  #lookSoon(worker: string): void {
    if (!this.#leads) return
    const known = this.#looks.get(worker)
    if (known?.waits !== undefined) return
    const wait = known === undefined ? 0 : Math.max(0, known.at + earlyLookGapMs - this.#parts.clock.monotonic())
    const entry = known ?? { last: Promise.resolve(), at: 0, waits: undefined }
    this.#looks.set(worker, entry)
    entry.waits = setTimeout(() => {
      entry.waits = undefined
      void this.#look(worker)
    }, wait)
    entry.waits.unref()
  }

  #look(worker: string): Promise<void> {
    const { clock, log } = this.#parts
    const entry = this.#looks.get(worker) ?? { last: Promise.resolve(), at: 0, waits: undefined }
    this.#looks.set(worker, entry)
    entry.last = entry.last
      .then(async () => {
        if (!this.#leads) return
        entry.at = clock.monotonic()
        await this.#lookOnce(worker)
      })
      .catch((error: unknown) => {
        log.warn({ worker, err: error }, `evaluating the canary of worker "${worker}" failed and will be retried: ${messageOf(error)}`)
      })
    return entry.last
  }

  async #lookOnce(worker: string): Promise<void> {
    const { clock, steps, store } = this.#parts
    const record = await store.get(worker)
    if (record === undefined || !isLive(record)) return
    if ((await steps.workerOf(record)) === undefined) {
      if (await this.#mayWrite()) await steps.abandon(record, itself)
      return
    }
    if (record.state !== 'RUNNING' && record.state !== 'PAUSED') {
      if (!(await this.#mayWrite())) return
      if (record.state === 'PENDING') await steps.awaitStart(record)
      else if (record.state === 'PROMOTING') await steps.promote(record, 0)
      else await steps.rollBack(record, 0)
      return
    }
    const now = clock.now()
    const [{ judgement, stepJobs }, missing] = await Promise.all([lookAt(record, store, now), this.#missing(record)])
    const act = nextAct(record, { now, judgement, stepJobs, missing })
    if (act.kind === 'stay') return this.#freezeSlow(record)
    if (await this.#mayWrite()) await this.#act(record, act, judgement)
  }

  async #act(
    record: CanaryRecord,
    act: Exclude<Act, { kind: 'stay' }>,
    judgement: Awaited<ReturnType<typeof lookAt>>['judgement'],
  ): Promise<void> {
    const { steps, transitions } = this.#parts
    const { reason, rule } = act
    const move = { actor: itself, reason, rule, judgement }
    switch (act.kind) {
      case 'advance':
        await transitions.go(record, { ...move, to: 'RUNNING', step: record.step + 1 })
        return
      case 'pause':
        await transitions.go(record, { ...move, to: 'PAUSED', pausedFor: act.pausedFor })
        return
      case 'rollback': {
        const after = await transitions.go(record, { ...move, to: 'ROLLING_BACK' })
        if (after !== undefined) await steps.rollBack(after, 0)
        return
      }
      case 'promote': {
        const denied = await transitions.demandPromotion(record).then(() => undefined, messageOf)
        if (denied !== undefined) {
          await transitions.go(record, { ...move, reason: denied, rule: 'canary/gate', to: 'PAUSED', pausedFor: 'gate' })
          return
        }
        const after = await transitions.go(record, { ...move, to: 'PROMOTING' })
        if (after !== undefined) await steps.promote(after, 0)
      }
    }
  }

  /** Fencing: an earlier leader must not write after a later one. */
  async #mayWrite(): Promise<boolean> {
    const { cluster } = this.#parts
    return this.#leads && (await cluster.isCurrent(role, this.#leadership?.epoch ?? 0)) && this.#leads
  }

  /** Returns nodes that run the worker but cannot load the version. */
  async #missing(record: CanaryRecord): Promise<readonly { readonly node: string; readonly error: string }[]> {
    const nodes = await this.#parts.workers.nodesOf(record.worker).catch((error: unknown) => {
      if (error instanceof ZinError && error.code === 'WORKER_NOT_FOUND') return []
      throw error
    })
    return nodes.flatMap(({ candidates = [], node, state }) => {
      const error = state === 'running' ? candidates.find(({ version }) => version === record.canary)?.error : undefined
      return error === undefined ? [] : [{ node, error }]
    })
  }

  /** Fixes the threshold for slow attempts for the rest of the canary, once the stable version has run enough jobs. */
  async #freezeSlow(record: CanaryRecord): Promise<void> {
    if (record.slowMs !== null || record.state !== 'RUNNING') return
    const { clock, transitions, workers } = this.#parts
    const { slowMs } = await stableOf(workers, record.worker, record.stable, clock)
    if (slowMs !== null && (await this.#mayWrite())) await transitions.amend(record, { slowMs })
  }
}
