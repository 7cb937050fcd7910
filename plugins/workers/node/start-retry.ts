import { ZinError } from 'zin'

/** Codes of transient errors, after which a start is retried. */
const transient: ReadonlySet<string> = new Set([
  'QUEUE_CONNECTION_ERROR',
  'QUEUE_DISK_FULL',
  'WORKER_STORE_UNAVAILABLE',
  'WORKER_CLUSTER_UNAVAILABLE',
])

/** Codes of errors that may pass by themselves, but may also stay: the start has failed, and is retried less and less often. */
const passing: ReadonlySet<string> = new Set(['PROCESSOR_LOAD_TIMEOUT', 'PROCESSOR_FETCH_FAILED'])

const firstMs = 1_000
/** The longest wait after a transient error, and after any other. */
const mostMs = { transient: 30_000, other: 300_000 } as const

export function isTransient(error: unknown): boolean {
  return error instanceof ZinError && transient.has(error.code)
}

export function mayPass(error: unknown): boolean {
  return error instanceof ZinError && passing.has(error.code)
}

/** Retries starts with exponential backoff from 1 s to 30 s after a transient error, and to 5 min after any other. */
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
  later(start: () => void, after: keyof typeof mostMs = 'transient'): void {
    clearTimeout(this.#timer)
    const waitMs = Math.min(mostMs[after], firstMs * 2 ** this.#failures++) * (1 - this.#random() / 2)
    this.#timer = setTimeout(start, waitMs)
  }

  /** Cancels the retry and resets the backoff: the worker has started, or should not start any more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#failures = 0
  }
}
