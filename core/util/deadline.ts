import { ZinError } from '../errors.js'

/** The work did not end in time. The work itself goes on; nobody waits for it any more. */
export class DeadlineError extends ZinError {
  constructor(message: string) {
    super('ZIN_DEADLINE', message, { status: 503 })
  }
}

/**
 * Waits for `work`, at most `ms`; then rejects with a {@link DeadlineError} that carries `message`.
 * The timer is cleared in any case.
 */
export async function withDeadline<T>(work: Promise<T> | T, ms: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(message)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
