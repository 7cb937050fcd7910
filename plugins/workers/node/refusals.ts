import { type Logger, messageOf } from 'zin'
import type { StoredWorker } from '../store/contract.js'

export interface RefusalParts {
  readonly log: Logger
  /** Halts the rollout of the desired version, and stores that it failed on this node. */
  readonly halt: (worker: StoredWorker, error: unknown) => Promise<unknown>
}

/** Keeps the last refusal of a version until it is stored, so that nodes that start later know of it. */
export class Refusals {
  readonly #parts: RefusalParts
  #unstored: { readonly worker: StoredWorker; readonly error: unknown } | undefined

  constructor(parts: RefusalParts) {
    this.#parts = parts
  }

  async add(worker: StoredWorker, version: string, error: unknown): Promise<void> {
    const { name } = worker.record
    const why = messageOf(error)
    this.#parts.log.warn({ worker: name, version, err: error }, `worker "${name}" keeps its version, because ${version} cannot run: ${why}`)
    this.#unstored = { worker, error }
    await this.store()
  }

  /** Stores the last refusal, if it is not stored yet. */
  async store(): Promise<void> {
    const refusal = this.#unstored
    if (refusal === undefined) return
    try {
      await this.#parts.halt(refusal.worker, refusal.error)
      this.#unstored = undefined
    } catch (error) {
      const { name } = refusal.worker.record
      const text = `the halted rollout of worker "${name}" could not be stored yet`
      this.#parts.log.warn({ worker: name, err: error }, `${text}: ${messageOf(error)}`)
    }
  }
}
