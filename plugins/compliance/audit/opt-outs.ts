import type { WorkerRecord, Workers } from 'zin/plugins/workers'

/** Workers of this process whose job outcomes are not recorded, because of `features.compliance: false`. */
export class OptOuts {
  readonly #workers: () => Workers | undefined
  readonly #names = new Set<string>()

  constructor(workers: () => Workers | undefined) {
    this.#workers = workers
  }

  has(worker: string): boolean {
    return this.#names.has(worker)
  }

  /** Reads a worker that is about to start here. If it cannot be read, its outcomes are recorded. */
  async read(worker: string): Promise<void> {
    const view = await this.#workers()
      ?.get(worker)
      .catch(() => undefined)
    if (view !== undefined) this.set(worker, view.features)
  }

  set(worker: string, features: WorkerRecord['features']): void {
    if (features.compliance === false) this.#names.add(worker)
    else this.#names.delete(worker)
  }
}
