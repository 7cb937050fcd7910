import type { StoredWorker } from '../store/contract.js'

/** Workers that do not start by themselves at boot: each waits until somebody starts or restarts it, whatever else is changed. */
export class HeldWorkers {
  /** As they were then. */
  readonly #held = new Map<string, StoredWorker>()

  hold(worker: StoredWorker): void {
    this.#held.set(worker.record.name, worker)
  }

  holds({ id, record, desired }: StoredWorker): boolean {
    const held = this.#held.get(record.name)
    return held?.id === id && held.desired.starts === desired.starts && held.desired.restarts === desired.restarts
  }

  forget(name: string): void {
    this.#held.delete(name)
  }
}
