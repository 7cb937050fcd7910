import type { WorkerMetrics } from '../types.js'

/** Attempts of one worker in this process. */
export class Counters {
  #completed = 0
  #failed = 0
  #totalMs = 0

  completed(ms: number): void {
    this.#completed++
    this.#totalMs += ms
  }

  failed(ms: number): void {
    this.#failed++
    this.#totalMs += ms
  }

  read(): WorkerMetrics {
    const attempts = this.#completed + this.#failed
    return {
      completed: this.#completed,
      failed: this.#failed,
      successRate: attempts === 0 ? 1 : this.#completed / attempts,
      avgDuration: attempts === 0 ? 0 : Math.round((this.#totalMs / attempts) * 100) / 100,
    }
  }
}
