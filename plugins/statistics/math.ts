const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** Natural logarithm of the gamma function, for x > 0: Lanczos below 20, Stirling's series from there on. */
export function logGamma(x: number): number {
  if (x >= 20) return (x - 0.5) * Math.log(x) - x + halfLogTau + stirlingRest(x)
  let sum = lanczos[0] as number
  for (let i = 1; i < lanczos.length; i++) sum += (lanczos[i] as number) / (x - 1 + i)
  const t = x + 6.5
  return halfLogTau + (x - 0.5) * Math.log(t) - t + Math.log(sum)
}

const halfLogTau = 0.5 * Math.log(2 * Math.PI)

/** The remainder of Stirling's formula for logGamma(x), with a relative error below 1e-17 from x = 20 on. */
function stirlingRest(x: number): number {
  const y = 1 / (x * x)
  return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))))) / x
}

/** Natural logarithm of the beta function, for a, b > 0. Avoids cancellation for large arguments. */
export function logBeta(a: number, b: number): number {
  const [small, large] = a < b ? [a, b] : [b, a]
  if (large < 20) return logGamma(a) + logGamma(b) - logGamma(a + b)
  // logGamma(large) - logGamma(large + small), without their common terms.
  const sum = large + small
  const ratio = -(large - 0.5) * Math.log1p(small / large) - small * Math.log(sum) + small
  return logGamma(small) + ratio + stirlingRest(large) - stirlingRest(sum)
}

/** Natural logarithm of the upper tail at x of the beta distribution: the log probability of a value above x, 0 < x < 1. */
export function logBetaTail(x: number, a: number, b: number): number {
  const front = a * Math.log(x) + b * Math.log1p(-x) - logBeta(a, b)
  // The continued fraction converges fast on this side of the mean.
  if (x > (a + 1) / (a + b + 2)) return front - Math.log(b) + Math.log(continuedFraction(1 - x, b, a))
  return Math.log1p(-Math.min(1, (Math.exp(front) * continuedFraction(x, a, b)) / a))
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function continuedFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300
  const safe = (value: number): number => (Math.abs(value) < tiny ? tiny : value)
  let c = 1
  let d = 1 / safe(1 - ((a + b) * x) / (a + 1))
  let result = d
  for (let m = 1; m <= 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / safe(1 + even * d)
    c = safe(1 + even / c)
    result *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / safe(1 + odd * d)
    c = safe(1 + odd / c)
    const factor = d * c
    result *= factor
    if (Math.abs(factor - 1) < 1e-14) break
  }
  return result
}

/** Upper end of Wilson's score interval for `bad` of `jobs`; 1 without jobs. */
export function wilsonUpper(bad: number, jobs: number, z: number): number {
  if (jobs <= 0) return 1
  const rate = bad / jobs
  const square = (z * z) / jobs
  const centre = rate + square / 2
  const half = z * Math.sqrt((rate * (1 - rate)) / jobs + square / (4 * jobs))
  return Math.max(rate, Math.min(1, (centre + half) / (1 + square)))
}

/**
 * Natural logarithm of the evidence that the true rate is above `limit`, given that `bad` of `jobs` were bad: the likelihood ratio of rates
 * above the limit, spread evenly on a logarithmic scale, to the limit. While the true rate is not above the limit, the probability that the
 * evidence ever reaches 1/alpha is at most alpha (Ville's inequality).
 */
export function logEvidenceAbove(bad: number, jobs: number, limit: number): number {
  if (bad <= 0) return Number.NEGATIVE_INFINITY
  const good = jobs - bad
  const above = logBeta(bad, good + 1) + logBetaTail(limit, bad, good + 1) - Math.log(-Math.log(limit))
  return above - bad * Math.log(limit) - good * Math.log1p(-limit)
}

/**
 * Half the width of the confidence interval around an estimate with the given variance that is valid at every evaluation, with probability
 * 1 - 2 alpha (mixture sequential probability ratio test; the mixture is normal with standard deviation `scale`).
 */
export function sequentialHalfWidth(variance: number, scale: number, alpha: number): number {
  if (!Number.isFinite(variance)) return Number.POSITIVE_INFINITY
  const prior = scale * scale
  return Math.sqrt(((variance * (variance + prior)) / prior) * (Math.log1p(prior / variance) - 2 * Math.log(2 * alpha)))
}
