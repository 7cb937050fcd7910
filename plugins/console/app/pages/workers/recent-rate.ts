import type { Counts } from './types.js'

const minuteMs = 60_000
const fullMinutes = 5

/** Returns the attempts per second over the last five full minutes and the current one. Pure. */
export function recentRate(counts: readonly Counts[], now: number): number {
  const from = (Math.floor(now / minuteMs) - fullMinutes) * minuteMs
  const recent = counts.filter(({ minute }) => minute !== undefined && Date.parse(minute) >= from)
  const attempts = recent.reduce((sum, { completed, failed }) => sum + completed + failed, 0)
  return attempts / ((now - from) / 1000)
}
