import { type Logger, messageOf } from 'zin'
import type { StoredWorker } from '../store/contract.js'

export interface RefusalParts {
  readonly log: Logger
  /** Stores that the rollout of the wanted version ended in this process. */
  readonly halt: (worker: StoredWorker, error: unknown) => Promise<unknown>
}

/** Versions that could not run here, until that is stored: a process that begins later must know. */
export class Refusals {
  readonly #parts: RefusalParts
  #unstored: { readonly worker: StoredWorker; readonly error: unknown } | undefined

  constructor(parts: RefusalParts) {
    this.#parts = parts
  }

  async add(worker: StoredWorker, version: string, error: unknown): Promise<void> {
    const { name } = worker.record
    const why = messageOf(error)
    this.#parts.log.warn({ worker: name, version, err: error }, `worker "${name}" keeps its version, ${version} cannot run here: ${why}`)
    this.#unstored = { worker, error }
    await this.store()
  }

  /** Tries again what a store that was away did not take. */
  async store(): Promise<void> {
    const refusal = this.#unstored
    if (refusal === undefined) return
    try {
      await this.#parts.halt(refusal.worker, refusal.error)
      this.#unstored = undefined
    } catch (error) {
      const { name } = refusal.worker.record
      this.#parts.log.warn({ worker: name, err: error }, `a halted rollout of worker "${name}" was not stored yet: ${messageOf(error)}`)
    }
  }
}
