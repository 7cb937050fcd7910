import { ZinError } from 'zin'

/** What ends by itself, so that a start is worth another attempt. */
const transient: ReadonlySet<string> = new Set(['QUEUE_CONNECTION_ERROR', 'WORKER_STORE_UNAVAILABLE', 'WORKER_CLUSTER_UNAVAILABLE'])

const firstMs = 1_000
const mostMs = 30_000

export function isTransient(error: unknown): boolean {
  return error instanceof ZinError && transient.has(error.code)
}

/** Starts again what could not start for a reason that passes: after 1 s, then twice as long each time, up to 30 s. */
export class StartRetry {
  readonly #random: () => number
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  /** @param random from 0 to 1: shortens each wait by up to half, so that processes do not come at the same time. */
  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** Whether an attempt has failed since the last end. */
  get pending(): boolean {
    return this.#failures > 0
  }

  /** After one more failed attempt. */
  later(start: () => void): void {
    clearTimeout(this.#timer)
    const waitMs = Math.min(mostMs, firstMs * 2 ** this.#failures++) * (1 - this.#random() / 2)
    this.#timer = setTimeout(start, waitMs)
  }

  /** It started, or should not start any more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#failures = 0
  }
}
