// Decides whether a failure rate indicates a problem. Pure.

/** Tolerated failure rate of a worker, the same as for its health score. */
const toleratedFailures = 0.05
/** With fewer attempts, a failure rate is not meaningful. */
export const fewAttempts = 5

/** Whether the failure rate is above the tolerated rate with 95 % confidence: 2 of 10 failed attempts say less than 200 of 1,000. */
export function failsTooOften(share: number, attempts: number): boolean {
  return attempts >= fewAttempts && leastShare(share, attempts) > toleratedFailures
}

/** Returns the lower bound of the 95 % Wilson interval. */
function leastShare(share: number, of: number): number {
  const z = 1.96
  const middle = share + (z * z) / (2 * of)
  return (middle - z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of))) / (1 + (z * z) / of)
}
