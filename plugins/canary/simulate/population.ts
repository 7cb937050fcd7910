import { buckets } from '../judge/routing.js'

/** Chance that a first attempt fails, is slow, and is lost. */
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

/** Jobs and how they are split. */
export interface Population {
  /** Both arms when the canary has `share` of the keys. */
  split(share: number): { readonly stable: readonly BucketTraffic[]; readonly canary: readonly BucketTraffic[] }
}

/** Jobs with a key of their own each, which is what a canary has unless it is sticky by something. */
export function independentJobs(stable: Rates, canary: Rates): Population {
  const spread = (rates: Rates, weight: number): readonly BucketTraffic[] =>
    Array.from({ length: buckets }, (_, bucket) => ({ ...rates, bucket, weight: weight / buckets }))
  return { split: (share) => ({ stable: spread(stable, 1 - share), canary: spread(canary, share) }) }
}
