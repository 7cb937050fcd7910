import type { NodeStatus } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import { isSameReport } from './local-status.js'
import type { LocalWorker } from './local-worker.js'

/** Reports the statuses of this node's workers to other nodes when they change. */
export class StatusReports {
  readonly #shared: SharedState
  readonly #failed: (error: unknown) => void
  /** Workers whose current status has not been reported yet. */
  readonly #changed = new Set<LocalWorker>()
  /** The statuses reported last. */
  readonly #reported = new Map<LocalWorker, NodeStatus>()
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
    if (this.#reported.size > 0) await this.#shared.restore([...this.#reported.values()])
  }

  /** Drops a worker that has ended. */
  drop(worker: LocalWorker): void {
    this.#changed.delete(worker)
    this.#reported.delete(worker)
  }

  /** A status in which only the times of the health check changed is stored, but not sent. */
  async #report(): Promise<void> {
    const workers = [...this.#changed]
    this.#changed.clear()
    const now = workers.flatMap((worker) => {
      const status = worker.status()
      return status === undefined ? [] : [{ worker, status }]
    })
    const news = now.filter(({ worker, status }) => !isSameReport(this.#reported.get(worker), status))
    const checked = now.filter((one) => !news.includes(one) && this.#reported.get(one.worker)?.check?.at !== one.status.check?.at)
    try {
      if (news.length > 0) await this.#shared.report(news.map(({ status }) => status))
      if (checked.length > 0) await this.#shared.restore(checked.map(({ status }) => status))
    } catch (error) {
      for (const worker of workers) this.#changed.add(worker)
      throw error
    }
    for (const { worker, status } of [...news, ...checked]) this.#reported.set(worker, status)
  }
}
