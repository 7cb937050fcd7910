import { ZinError } from 'zin'

/** Codes of transient errors, after which a start is retried. */
const transient: ReadonlySet<string> = new Set([
  'QUEUE_CONNECTION_ERROR',
  'QUEUE_DISK_FULL',
  'WORKER_STORE_UNAVAILABLE',
  'WORKER_CLUSTER_UNAVAILABLE',
])

const firstMs = 1_000
const mostMs = 30_000

export function isTransient(error: unknown): boolean {
  return error instanceof ZinError && transient.has(error.code)
}

/** Retries starts that failed with a transient error, with exponential backoff from 1 s to 30 s. */
export class StartRetry {
  readonly #random: () => number
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  /** @param random returns 0 to 1, the jitter: each wait is shortened by up to half, so that nodes do not retry at the same time. */
  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** Whether a start has failed since the last `end`. */
  get pending(): boolean {
    return this.#failures > 0
  }

  /** Schedules a retry after another failed start. */
  later(start: () => void): void {
    clearTimeout(this.#timer)
    const waitMs = Math.min(mostMs, firstMs * 2 ** this.#failures++) * (1 - this.#random() / 2)
    this.#timer = setTimeout(start, waitMs)
  }

  /** Cancels the retry and resets the backoff: the worker has started, or should not start any more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#failures = 0
  }
}
