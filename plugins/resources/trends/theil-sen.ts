export interface Point {
  /** ms. */
  readonly at: number
  readonly value: number
}

export interface Trend {
  /** Change per ms: the median of the slopes between all pairs of points, which is robust against outliers. */
  readonly slope: number
  /** Agreement of the pairs, -1 to 1 (Kendall's tau): 1 when every later point is higher, near 0 without a direction. */
  readonly agreement: number
  /** Value of the line at the last point. */
  readonly level: number
}

/** Returns the Theil–Sen line through points; undefined for fewer than three distinct times. The cost is quadratic. */
export function theilSen(points: readonly Point[]): Trend | undefined {
  const slopes: number[] = []
  let up = 0
  let down = 0
  points.forEach((from, index) => {
    for (const to of points.slice(index + 1)) {
      const run = to.at - from.at
      if (run === 0) continue
      const slope = (to.value - from.value) / run
      slopes.push(slope)
      if (slope > 0) up++
      else if (slope < 0) down++
    }
  })
  const last = points.at(-1)
  if (last === undefined || slopes.length < 3) return undefined
  const slope = median(slopes)
  const level = median(points.map(({ at, value }) => value + slope * (last.at - at)))
  return { slope, agreement: (up - down) / slopes.length, level }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low = 0, high = 0] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 1 ? high : (low + high) / 2
}

/** Returns at most `most` evenly chosen points, including the last one. */
export function thin<T>(points: readonly T[], most: number): readonly T[] {
  if (points.length <= most) return points
  return Array.from({ length: most }, (_, index) => points[Math.floor(((index + 1) * points.length) / most) - 1] as T)
}
