import { isDeepStrictEqual } from 'node:util'
import { messageOf, withDeadline } from 'zin'
import type { LocalWorker, LocalWorkers } from '../contract.js'
import { workerErrors } from '../errors.js'
import type { AttemptDelta, NodeStatus } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import type { VersionCounts } from './counters.js'
import type { LosingSlot, SlotOwner, SlotParts } from './slot-parts.js'
import { StartLanes } from './start-lanes.js'
import type { StopLimits } from './stop-waits.js'
import type { VersionRoutes } from './version-routes.js'
import { WorkerSlot } from './worker-slot.js'

export interface NodeParts extends Omit<SlotParts, 'changed' | 'startLanes' | 'lostVersion'> {
  readonly shared: SharedState
}

/** How many workers start at the same time: a store that has just come back gets no more than these connections at once. */
const startsAtOnce = 20

/** How many queues are looked at for lost jobs at the same time. */
const checksAtOnce = 10

/** How long the others may take to be told of the end, in ms. */
const leaveMs = 2_000

/** The workers of this process. It brings what runs here in line with goals, and keeps no desire of its own. */
export class WorkerNode {
  readonly local: LocalWorkers
  readonly #parts: NodeParts
  readonly #slots = new Map<string, WorkerSlot>()
  readonly #startLanes = new StartLanes(startsAtOnce)
  /** Slots of removed workers that still stop, and when they have. */
  readonly #leaving = new Map<WorkerSlot, Promise<void>>()
  /** Slots whose status others do not know yet. */
  readonly #unreported = new Set<WorkerSlot>()
  /** What others were told last. */
  readonly #reported = new Map<WorkerSlot, NodeStatus>()
  #reporting: Promise<void> | undefined
  #checking: Promise<void> | undefined
  #told = false

  constructor(parts: NodeParts) {
    this.#parts = parts
    this.local = {
      node: parts.id,
      list: () => [...this.#slots.values()].flatMap((slot) => localWorker(slot, parts.routes)),
      fail: async (name, error) => {
        const slot = this.#slots.get(name)
        if (slot === undefined) throw workerErrors.WORKER_NOT_FOUND(name)
        await slot.fail(error)
      },
      reportCheck: (name, report) => this.#slots.get(name)?.noteCheck(report),
    }
  }

  get id(): string {
    return this.#parts.id
  }

  /** The slot of a worker. It begins when that of an earlier worker of its name has ended. */
  slot(owner: SlotOwner): WorkerSlot {
    const known = this.#slots.get(owner.name)
    if (known?.id === owner.id) return known
    this.dropEarlier(owner)
    const earlier = [...this.#leaving].filter(([slot]) => slot.name === owner.name).map(([, left]) => left)
    const parts: SlotParts = {
      ...this.#parts,
      startLanes: this.#startLanes,
      changed: () => this.#changed(slot),
      lostVersion: (losing) => this.#lostVersion(losing),
    }
    const slot: WorkerSlot = new WorkerSlot(owner, parts, Promise.allSettled(earlier))
    this.#slots.set(owner.name, slot)
    return slot
  }

  /** The slot of this worker, if there is one. */
  find({ name, id }: SlotOwner): WorkerSlot | undefined {
    const slot = this.#slots.get(name)
    return slot?.id === id ? slot : undefined
  }

  /** Stops and forgets an earlier worker of this name. */
  dropEarlier({ name, id }: SlotOwner): void {
    const slot = this.#slots.get(name)
    if (slot === undefined || slot.id === id) return
    this.forget(slot).catch((error: unknown) => this.#complain(error, 'a removed worker was not forgotten'))
  }

  /** Stops and forgets a worker that is no longer stored. */
  async forget({ name, id }: SlotOwner): Promise<void> {
    const slot = this.#slots.get(name)
    if (slot?.id !== id) return
    this.#slots.delete(name)
    const left = slot.close(this.#parts.stopLimits).finally(() => {
      this.#leaving.delete(slot)
      this.#unreported.delete(slot)
      this.#reported.delete(slot)
    })
    this.#leaving.set(slot, left)
    await left
    // What is being told of it must not come later.
    await this.#reporting
    await this.#parts.shared.forget(name, id)
  }

  /** Stops everything within these limits, also what is being stopped already; nothing starts any more. Desired states stay as they are. */
  async close(limits: StopLimits): Promise<void> {
    await Promise.all(this.#all().map((slot) => slot.close(limits)))
    // What a store that is down does not learn in this time, it learns from the lease.
    await withDeadline(
      this.#report().then(() => this.flush()),
      leaveMs,
      '',
    ).catch(() => undefined)
  }

  /** Aborts a running job; false when none of that id runs here. */
  cancel(queue: string, job: string, reason: string): boolean {
    return this.#all().some((slot) => slot.worker?.record.queueName === queue && slot.cancel(job, reason))
  }

  /** Stores again what the others were told, after the store lost it. */
  async restore(): Promise<void> {
    if (this.#reported.size > 0) await this.#parts.shared.restore([...this.#reported.values()])
  }

  /** Adds what was counted since the last time to the counts of all processes, and ends versions that have drained. */
  async flush(): Promise<void> {
    const drained = [...this.#slots.values()]
      .map((slot) => ({ slot, deltas: slot.counters.drain() }))
      .filter(({ deltas }) => deltas.length > 0)
    try {
      const deltas: AttemptDelta[] = drained.flatMap(({ slot, deltas }) => deltas.map((delta) => deltaOf(slot, delta)))
      if (deltas.length > 0) await this.#parts.shared.count(deltas)
      this.#told = false
    } catch (error) {
      for (const { slot, deltas } of drained) slot.counters.restore(deltas)
      this.#complain(error, 'attempts were not counted yet')
    }
    await Promise.all([...this.#slots.values()].map((slot) => slot.drain()))
  }

  /** For the workers of which this node does so, a few at a time. Does not overlap. */
  checkStalled(): Promise<void> {
    this.#checking ??= (async () => {
      const slots = [...this.#slots.values()]
      const lane = async (): Promise<void> => {
        for (let slot = slots.pop(); slot !== undefined; slot = slots.pop()) await slot.checkStalled()
      }
      await Promise.all(Array.from({ length: checksAtOnce }, lane))
    })().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  #changed(slot: WorkerSlot): void {
    this.#unreported.add(slot)
    void this.#report()
  }

  /** That of the process which was lost last; when none is known to be, the one that runs here. */
  async #lostVersion({ name, id, version: here }: LosingSlot): Promise<string | undefined> {
    const reported = await this.#parts.shared.statusesOf(name).catch(() => [])
    const lost = reported.filter(({ alive, version, workerId }) => !alive && version !== null && workerId === id)
    return lost.sort((a, b) => b.at - a.at)[0]?.version ?? here
  }

  #all(): readonly WorkerSlot[] {
    return [...this.#leaving.keys(), ...this.#slots.values()]
  }

  /** One write at a time; what changes meanwhile goes with the next one. */
  #report(): Promise<void> {
    this.#reporting ??= (async () => {
      // What changes in the same turn goes in one write.
      await Promise.resolve()
      try {
        while (this.#unreported.size > 0) await this.#reportOnce()
        this.#told = false
      } catch (error) {
        this.#complain(error, 'other processes do not know yet what runs here')
      } finally {
        this.#reporting = undefined
      }
    })()
    return this.#reporting
  }

  /** Others are told what changed; when a check was made again and found the same, that is only stored. */
  async #reportOnce(): Promise<void> {
    const slots = [...this.#unreported]
    this.#unreported.clear()
    const now = slots.flatMap((slot) => {
      const status = slot.status()
      return status === undefined ? [] : [{ slot, status }]
    })
    const news = now.filter(({ slot, status }) => !isSame(this.#reported.get(slot), status))
    const again = now.filter((one) => !news.includes(one) && this.#reported.get(one.slot)?.check?.at !== one.status.check?.at)
    try {
      if (news.length > 0) await this.#parts.shared.report(news.map(({ status }) => status))
      if (again.length > 0) await this.#parts.shared.restore(again.map(({ status }) => status))
    } catch (error) {
      for (const slot of this.#all()) if (slots.includes(slot)) this.#unreported.add(slot)
      throw error
    }
    for (const { slot, status } of [...news, ...again]) this.#reported.set(slot, status)
  }

  /** Once per outage. */
  #complain(error: unknown, what: string): void {
    if (this.#told) return
    this.#told = true
    this.#parts.log.warn({ err: error }, `${what}: ${messageOf(error)}`)
  }
}

/** Whether a status says the same as another: at most its times differ. */
function isSame(a: NodeStatus | undefined, b: NodeStatus): boolean {
  const timeless = ({ check, ...status }: NodeStatus) => ({
    ...status,
    at: 0,
    ...(check === undefined ? {} : { check: { ...check, at: 0, durationMs: 0 } }),
  })
  return a !== undefined && isDeepStrictEqual(timeless(a), timeless(b))
}

/** Without the version, a delta adds to the totals only. */
function deltaOf({ name, worker }: WorkerSlot, counts: VersionCounts): AttemptDelta {
  return { worker: name, ...counts, version: worker?.record.features.metrics === false ? null : counts.version }
}

function localWorker(slot: WorkerSlot, routes: VersionRoutes): readonly LocalWorker[] {
  const { worker, version } = slot
  if (worker === undefined || version === undefined) return []
  const { record, desired } = worker
  return [
    {
      name: record.name,
      version,
      state: slot.state,
      routeFallbacks: routes.fallbacks(record.name),
      monitored: desired.monitored ?? record.features.healthMonitoring ?? false,
      features: record.features,
      healthCheck: slot.healthCheck,
    },
  ]
}
