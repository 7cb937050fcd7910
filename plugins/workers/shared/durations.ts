/** Number of bounds per power of two. */
const stepsPerOctave = 4

/**
 * Upper bounds of the buckets for run times, in ms: 0.25 to 67,108,864 (18.6 h), four per power of two, so that each bound is 19 % above
 * the previous one. Bucket `n` counts times above bound `n - 1` and up to bound `n`; one more bucket counts times above the last bound.
 * The bounds are the same everywhere, so that sums over minutes, nodes, versions and workers are exact.
 */
export const durationBounds: readonly number[] = Object.freeze(
  Array.from({ length: 28 * stepsPerOctave + 1 }, (_, step) => Math.round(2 ** (step / stepsPerOctave - 2) * 1000) / 1000),
)

/** Attempts by run time: index of the bucket in {@link durationBounds} → number of attempts. Empty buckets are left out. */
export type DurationBuckets = Readonly<Record<number, number>>

/** Returns the index of the bucket for a time in ms, 0 to `durationBounds.length`. */
export function bucketOf(ms: number): number {
  let low = 0
  let high = durationBounds.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms <= (durationBounds[middle] ?? 0)) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * Adds up run times that were counted separately.
 *
 * @example
 * const all = sumDurations((await workers.counts(['email-sender'], { byVersion: true })).map(({ durations }) => durations))
 */
export function sumDurations(parts: Iterable<DurationBuckets>): DurationBuckets {
  const sums: Record<number, number> = {}
  for (const part of parts) {
    for (const [bucket, attempts] of Object.entries(part)) sums[Number(bucket)] = (sums[Number(bucket)] ?? 0) + attempts
  }
  return sums
}

/**
 * Returns a percentile of run times in ms, by nearest rank: the middle of the bucket that contains the rank. The error is at most 10 %
 * between 0.25 ms and 18.6 h, and at most 0.125 ms below that; above, the result is the last bound. Undefined if there are no attempts.
 *
 * @param q 0–1: 0.95 is the 95th percentile. Other values throw a RangeError.
 * @example
 * const [counts] = await workers.counts(['email-sender'])
 * const p95 = counts === undefined ? undefined : percentile(counts.durations, 0.95)
 */
export function percentile(buckets: DurationBuckets, q: number): number | undefined {
  if (!(q >= 0 && q <= 1)) throw new RangeError(`percentile: q is ${q}; pass a number from 0 to 1, such as 0.95`)
  const counted = Object.entries(buckets)
    .map(([bucket, attempts]) => [Number(bucket), attempts] as const)
    .sort(([a], [b]) => a - b)
  const rank = Math.max(1, Math.ceil(q * counted.reduce((sum, [, attempts]) => sum + attempts, 0)))
  let before = 0
  for (const [bucket, attempts] of counted) {
    before += attempts
    if (before >= rank) return middleOf(bucket)
  }
  return undefined
}

/** Returns the geometric mean of the bounds, which differs from both by the same factor. */
function middleOf(bucket: number): number {
  const upper = durationBounds[bucket]
  if (upper === undefined) return durationBounds.at(-1) ?? 0
  const lower = durationBounds[bucket - 1]
  return lower === undefined ? upper / 2 : Math.sqrt(lower * upper)
}
