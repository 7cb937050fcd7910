import type { NodeStatus } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import { isSameReport, isSameStatus } from './local-status.js'
import type { LocalWorker } from './local-worker.js'

/** Reports the statuses of this node's workers to other nodes when they change. */
export class StatusReports {
  readonly #shared: SharedState
  readonly #failed: (error: unknown) => void
  /** Workers whose current status has not been reported yet. */
  readonly #changed = new Set<LocalWorker>()
  /** The statuses reported last. */
  readonly #reported = new Map<LocalWorker, NodeStatus>()
  /** Number of jobs that run on this node: as counted last, and as stored last. */
  readonly #busy = { counted: 0, stored: 0 }
  /** Whether the store has lost what was stored last. */
  #lost = false
  #reporting: Promise<boolean> | undefined

  /** @param failed called with the error of a report. */
  constructor(shared: SharedState, failed: (error: unknown) => void) {
    this.#shared = shared
    this.#failed = failed
  }

  add(worker: LocalWorker): Promise<boolean> {
    this.#changed.add(worker)
    return this.flush()
  }

  /** Writes the changed statuses, one write at a time. Returns false if a write failed; the next report retries it. */
  flush(): Promise<boolean> {
    this.#reporting ??= (async () => {
      // Batches the changes made in the same tick.
      await Promise.resolve()
      try {
        while (this.#lost || this.#changed.size > 0 || this.#busy.counted !== this.#busy.stored) await this.#report()
        return true
      } catch (error) {
        this.#failed(error)
        return false
      } finally {
        this.#reporting = undefined
      }
    })()
    return this.#reporting
  }

  /** Stores the reported statuses again after the store has lost them, in turn with the reports, which may have newer ones. */
  restore(): Promise<boolean> {
    this.#lost = this.#reported.size > 0
    return this.flush()
  }

  /**
   * Counts how many jobs run now, and stores that if it has changed, in one write and without a message. Call it every second or so. Once it
   * returns true, that number or a later one is stored.
   */
  refresh(workers: readonly LocalWorker[]): Promise<boolean> {
    this.#busy.counted = 0
    for (const worker of workers) {
      this.#busy.counted += worker.busy
      const reported = this.#reported.get(worker)
      if (reported !== undefined && mayDiffer(reported, worker.busy)) this.#changed.add(worker)
    }
    return this.flush()
  }

  /** Drops a worker that has ended. */
  drop(worker: LocalWorker): void {
    this.#changed.delete(worker)
    this.#reported.delete(worker)
  }

  /** A status in which only the times of the health check or the numbers of running jobs changed is stored, but not sent. */
  async #report(): Promise<void> {
    const workers = [...this.#changed]
    this.#changed.clear()
    const lost = this.#lost
    this.#lost = false
    const news = new Map<LocalWorker, NodeStatus>()
    const quiet = new Map<LocalWorker, NodeStatus>()
    for (const worker of workers) {
      const status = worker.status()
      if (status === undefined) continue
      const before = this.#reported.get(worker)
      if (!isSameReport(before, status)) news.set(worker, status)
      else if (!isSameStatus(before, status)) quiet.set(worker, status)
    }
    const busy = this.#busy.counted
    try {
      if (news.size > 0) await this.#shared.report([...news.values()])
      const again = lost ? [...this.#reported].flatMap(([worker, status]) => (news.has(worker) || quiet.has(worker) ? [] : [status])) : []
      if (lost || quiet.size > 0 || busy !== this.#busy.stored) await this.#shared.restore([...again, ...quiet.values()], busy)
    } catch (error) {
      this.#lost ||= lost
      for (const worker of workers) this.#changed.add(worker)
      throw error
    }
    this.#busy.stored = busy
    for (const [worker, status] of [...news, ...quiet]) this.#reported.set(worker, status)
  }
}

/** Whether the numbers of running jobs may have changed. */
function mayDiffer({ busy, candidates, draining }: NodeStatus, now: number): boolean {
  return busy !== now || candidates !== undefined || Object.keys(draining).length > 0
}
