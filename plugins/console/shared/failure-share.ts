// When a share of failed attempts says that something is wrong. Pure; the page and the server use the same.

/** A worker may fail this share of its attempts, as for its health score. */
const toleratedFailures = 0.05
/** A share of fewer attempts proves little. */
const fewAttempts = 5

/** Whether more failures than tolerated are certain: 2 of 10 failed attempts say less than 200 of 1,000. */
export function failsTooOften(share: number, attempts: number): boolean {
  return attempts >= fewAttempts && leastShare(share, attempts) > toleratedFailures
}

/** The lower bound of the true share, by Wilson at 95 %. */
function leastShare(share: number, of: number): number {
  const z = 1.96
  const middle = share + (z * z) / (2 * of)
  return (middle - z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of))) / (1 + (z * z) / of)
}
