/** Number of sticky buckets. */
export const buckets = 64

/** The route of a job: it goes to the canary if `share` is below the share of the step. `share` and `bucket` are independent. */
export interface Route {
  /** From 0, below 1. A job in the cohort of a small share is also in that of every larger one. */
  readonly share: number
  /** 0 to 63. */
  readonly bucket: number
}

/**
 * Returns the sticky route of a key for a canary: the same in every process, and different for each canary.
 *
 * @example
 * const { share, bucket } = routeOf('0198c1de', 'tenant-7')
 * const arm = share < 0.05 ? 'canary' : 'stable'
 */
export function routeOf(canaryId: string, key: string): Route {
  const hash = hash32(`${canaryId}\0${key}`)
  return { share: mix(hash) / 2 ** 32, bucket: mix(hash ^ 0x9e3779b9) >>> 26 }
}

/** Returns only the share of a key, see {@link routeOf}. */
export function shareOf(canaryId: string, key: string): number {
  return routeOf(canaryId, key).share
}

/** FNV-1a over UTF-16 code units. Not well mixed: see {@link mix}. */
function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** The finaliser of MurmurHash3: each bit of the input changes half of the bits of the output. */
function mix(bits: number): number {
  let hash = bits
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
