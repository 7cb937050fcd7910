/** Number of sticky buckets. */
export const buckets = 64

/** Where a job goes: to the canary when `share` is below that of the step. The two are independent of each other. */
export interface Route {
  /** 0 to 1, exclusive. A job that is in the cohort of a small share is in that of every larger one. */
  readonly share: number
  /** 0 to 63. */
  readonly bucket: number
}

/**
 * The sticky route of a key under a canary: the same in every process. Another canary gives other routes.
 *
 * @example
 * const { share, bucket } = routeOf('0198c1de', 'tenant-7')
 * const arm = share < 0.05 ? 'canary' : 'stable'
 */
export function routeOf(canaryId: string, key: string): Route {
  const hash = hash32(`${canaryId}\0${key}`)
  return { share: mix(hash) / 2 ** 32, bucket: mix(hash ^ 0x9e3779b9) >>> 26 }
}

/** The share of a key alone, see {@link routeOf}. */
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
