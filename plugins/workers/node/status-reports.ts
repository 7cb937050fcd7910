import type { NodeStatus } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import { isSameReport, isSameStatus } from './local-status.js'
import type { LocalWorker } from './local-worker.js'

/** Reports the statuses of this node's workers to other nodes when they change. */
export class StatusReports {
  readonly #shared: SharedState
  readonly #failed: (error: unknown) => void
  readonly #busyNow: () => number
  /** Workers whose current status has not been reported yet. */
  readonly #changed = new Set<LocalWorker>()
  /** The statuses reported last. */
  readonly #reported = new Map<LocalWorker, NodeStatus>()
  /** The number of running jobs that was stored last. */
  #busy = 0
  #reporting: Promise<boolean> | undefined

  /**
   * @param failed called with the error of a report.
   * @param busy returns how many jobs run on this node.
   */
  constructor(shared: SharedState, failed: (error: unknown) => void, busy: () => number) {
    this.#shared = shared
    this.#failed = failed
    this.#busyNow = busy
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
        if (this.#changed.size === 0 && this.#busy !== this.#busyNow()) await this.#report()
        while (this.#changed.size > 0) await this.#report()
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

  /** Stores the reported statuses again after the store has lost them. */
  async restore(): Promise<void> {
    if (this.#reported.size > 0) await this.#shared.restore([...this.#reported.values()], this.#busy)
  }

  /** Stores how many jobs run now, if that has changed, in one write and without a message. Call it every second or so. */
  refresh(workers: readonly LocalWorker[]): Promise<boolean> {
    for (const worker of workers) {
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
    const now = workers.flatMap((worker) => {
      const status = worker.status()
      return status === undefined ? [] : [{ worker, status }]
    })
    const news = now.filter(({ worker, status }) => !isSameReport(this.#reported.get(worker), status))
    const quiet = now.filter((one) => !news.includes(one) && !isSameStatus(this.#reported.get(one.worker), one.status))
    const busy = this.#busyNow()
    try {
      if (news.length > 0) await this.#shared.report(news.map(({ status }) => status))
      if (quiet.length > 0 || busy !== this.#busy) {
        await this.#shared.restore(
          quiet.map(({ status }) => status),
          busy,
        )
      }
    } catch (error) {
      for (const worker of workers) this.#changed.add(worker)
      throw error
    }
    this.#busy = busy
    for (const { worker, status } of [...news, ...quiet]) this.#reported.set(worker, status)
  }
}

/** Whether the numbers of running jobs may have changed. */
function mayDiffer({ busy, candidates, draining }: NodeStatus, now: number): boolean {
  return busy !== now || candidates !== undefined || Object.keys(draining).length > 0
}
