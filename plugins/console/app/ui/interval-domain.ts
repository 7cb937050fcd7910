/** Returns the scale of an interval axis, from a value to 0–100 %. The axis covers the whole interval, zero and the limit. Pure. */
export function intervalDomain(difference: number, halfWidth: number, limit: number): (value: number) => number {
  const low = Math.min(difference - halfWidth, -limit)
  const high = Math.max(difference + halfWidth, 2 * limit)
  const margin = (high - low) * 0.06 || 1
  const [from, to] = [low - margin, high + margin]
  return (value) => Math.round(((value - from) / (to - from)) * 10_000) / 100
}
