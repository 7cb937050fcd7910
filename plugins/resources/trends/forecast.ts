import { type Point, type Trend, theilSen, thin } from './theil-sen.js'

/** A trend, and when it will reach a limit if it continues. */
export interface Forecast extends Trend {
  /** ms from the last point until the limit; 0 if it is reached. Absent without a limit or without steady growth towards it. */
  readonly limitInMs?: number
}

/** Number of points of a trend. More points add no information, and the cost is quadratic. */
export const trendPoints = 60

/** Minimum requirements of a forecast; anything less is noise. */
const leastPoints = 10
const leastSpanMs = 20 * 60_000
const leastAgreement = 0.6
/** Limits further away than this are not forecast. */
const longestMs = 30 * 86_400_000

/** Returns the trend of points sorted by time, with a forecast if `limit` is given; undefined for too few points. */
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

/** Formats a time: `about 40 min`, `about 3 h`, `about 5 days`. */
export function aboutTime(ms: number): string {
  const minutes = ms / 60_000
  if (minutes < 1) return 'less than a minute'
  if (minutes < 90) return `about ${Math.round(minutes)} min`
  if (minutes < 36 * 60) return `about ${Math.round(minutes / 60)} h`
  return `about ${Math.round(minutes / 1440)} days`
}
