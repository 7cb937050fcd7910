import { buckets } from '../judge/routing.js'

/** Probabilities that a first attempt fails, is slow, or is lost. */
export interface Rates {
  readonly failure: number
  readonly slow: number
  readonly lost: number
}

/** The jobs of one arm in one sticky bucket. */
export interface BucketTraffic extends Rates {
  readonly bucket: number
  /** Part of all jobs. */
  readonly weight: number
}

/** The simulated jobs and their split between the arms. */
export interface Population {
  /** Returns the traffic of both arms if the canary has `share` of the keys. */
  split(share: number): { readonly stable: readonly BucketTraffic[]; readonly canary: readonly BucketTraffic[] }
}

/** Jobs with individual keys, as in a canary without `stickyBy`. */
export function independentJobs(stable: Rates, canary: Rates): Population {
  const spread = (rates: Rates, weight: number): readonly BucketTraffic[] =>
    Array.from({ length: buckets }, (_, bucket) => ({ ...rates, bucket, weight: weight / buckets }))
  return { split: (share) => ({ stable: spread(stable, 1 - share), canary: spread(canary, share) }) }
}
