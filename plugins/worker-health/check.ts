import { type Clock, messageOf, withDeadline } from 'zin'
import type { HealthCheckResult, LocalWorker } from 'zin/plugins/workers'
import type { CheckOutcome } from './outcome.js'

export interface CheckParts {
  readonly clock: Clock
  readonly timeoutMs: number
  /** The built-in check: whether the queue store responds. */
  readonly ping: (signal: AbortSignal) => Promise<unknown>
}

/** What a worker's next check needs to know of its earlier ones. */
export interface EarlierChecks {
  readonly failures: number
  /** Whether its own check still runs: one that ignores its signal outlives its timeout. Set and cleared by {@link checkWorker}. */
  pending?: boolean
}

/** Checks a worker once: whether the queue store responds, then its own check. Time-bounded, and never throws. */
export async function checkWorker(worker: LocalWorker, earlier: EarlierChecks, parts: CheckParts): Promise<CheckOutcome> {
  const { clock, ping, timeoutMs } = parts
  const begun = clock.monotonic()
  const failuresBefore = earlier.failures
  const abort = new AbortController()
  const ended = (result: HealthCheckResult, counts: boolean): CheckOutcome => {
    const { healthy, error, details } = result
    const failures = healthy ? 0 : failuresBefore + (counts ? 1 : 0)
    const durationMs = Math.round(clock.monotonic() - begun)
    return {
      healthy,
      failures,
      counts,
      durationMs,
      at: clock.now(),
      ...(healthy ? {} : { error: reasonOf(error) }),
      ...(details === undefined ? {} : { details: storable(details) }),
    }
  }
  const bounded = <T>(work: Promise<T>): Promise<T> => withDeadline(work, timeoutMs, `no response within ${timeoutMs} ms`)
  try {
    await bounded(ping(abort.signal))
  } catch (error) {
    abort.abort()
    return ended({ healthy: false, error: `the queue store does not respond: ${messageOf(error)}` }, false)
  }
  try {
    const { healthCheck } = worker
    if (healthCheck === undefined) return ended({ healthy: true }, true)
    if (earlier.pending === true) throw new Error(`no response within ${timeoutMs} ms: an earlier check still runs and ignores its signal`)
    earlier.pending = true
    const work = call(healthCheck, worker.name, abort.signal).finally(() => {
      earlier.pending = false
    })
    return ended(await bounded(work), true)
  } catch (error) {
    return ended({ healthy: false, error: messageOf(error) }, true)
  } finally {
    abort.abort()
  }
}

const maxReason = 1000
const maxDetails = 10_000

function reasonOf(error: unknown): string {
  return error === undefined || error === '' ? 'the health check reported no reason' : messageOf(error).slice(0, maxReason)
}

/** Details as JSON; a note when they cannot be serialized or are too long. */
function storable(details: unknown): NonNullable<HealthCheckResult['details']> {
  try {
    const text = JSON.stringify(details)
    if (text.length <= maxDetails) return JSON.parse(text)
    return { note: `the details of the check are longer than ${maxDetails} characters` }
  } catch {
    return { note: 'the details of the check cannot be serialized as JSON' }
  }
}

/** Runs a check; an invalid result is a failure. */
async function call(check: NonNullable<LocalWorker['healthCheck']>, name: string, signal: AbortSignal): Promise<HealthCheckResult> {
  const result: unknown = await check(name, signal)
  if (typeof result === 'object' && result !== null && typeof (result as HealthCheckResult).healthy === 'boolean') {
    return result as HealthCheckResult
  }
  throw new Error('the health check must return {healthy: boolean, details?, error?}')
}
