/** How long counts by minute and operations are kept, in ms. */
export const dayMs = 86_400_000

const minuteMs = 60_000

/** Start of the minute of `at`, ms since 1970. */
export function minuteOf(at: number): number {
  return Math.floor(at / minuteMs) * minuteMs
}
