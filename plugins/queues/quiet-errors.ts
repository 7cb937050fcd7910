import { type Clock, type Logger, messageOf } from 'zin'

/** Repeated errors of one source within this time are counted instead of logged, in ms. */
const quietMs = 30_000

/** Logs the errors of connections that retry forever, without flooding the log. */
export function quietErrors(log: Logger, clock: Clock): (facts: Readonly<Record<string, unknown>>, error: unknown) => void {
  const seen = new Map<string, { until: number; held: number }>()
  return (facts, error) => {
    const reason = messageOf(error)
    const key = `${JSON.stringify(facts)} ${reason}`
    const now = clock.monotonic()
    const before = seen.get(key)
    if (before && now < before.until) {
      before.held++
      return
    }
    if (seen.size > 500) seen.clear()
    seen.set(key, { until: now + quietMs, held: 0 })
    log.error({ ...facts, reason, ...(before && before.held > 0 && { repeated: before.held }) }, 'queue error')
  }
}
