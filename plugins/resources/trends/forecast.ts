import { type Point, type Trend, theilSen, thin } from './theil-sen.js'

/** A trend, and when it reaches a limit if it goes on. */
export interface Forecast extends Trend {
  /** ms from the last point until the limit; 0: it is reached. Absent: no limit, or it does not grow steadily towards it. */
  readonly limitInMs?: number
}

/** Points that a trend is made of. More say no more, and cost their square. */
export const trendPoints = 60

/** What a forecast needs: fewer points, a shorter time or less agreement are noise. */
const leastPoints = 10
const leastSpanMs = 20 * 60_000
const leastAgreement = 0.6
/** A limit further away is no forecast. */
const longestMs = 30 * 86_400_000

/** The trend of points in order of time, and a forecast where `limit` is given; undefined for too few points. */
export function forecast(points: readonly Point[], limit?: number): Forecast | undefined {
  const chosen = thin(points, trendPoints)
  const trend = theilSen(chosen)
  const [first, last] = [chosen[0], chosen.at(-1)]
  if (trend === undefined || first === undefined || last === undefined) return undefined
  const steady = chosen.length >= leastPoints && last.at - first.at >= leastSpanMs && trend.agreement >= leastAgreement
  if (limit === undefined || !steady || trend.slope <= 0) return trend
  const limitInMs = Math.max(0, (limit - trend.level) / trend.slope)
  return limitInMs > longestMs ? trend : { ...trend, limitInMs: Math.round(limitInMs) }
}

/** `about 40 min`, `about 3 h`, `about 5 days`. */
export function aboutTime(ms: number): string {
  const minutes = ms / 60_000
  if (minutes < 1) return 'less than a minute'
  if (minutes < 90) return `about ${Math.round(minutes)} min`
  if (minutes < 36 * 60) return `about ${Math.round(minutes / 60)} h`
  return `about ${Math.round(minutes / 1440)} days`
}
