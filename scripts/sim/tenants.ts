import type { BucketTraffic, Population, Rates } from '../../plugins/canary/simulate/population.js'
import type { Random } from '../../plugins/canary/simulate/random.js'

/** Jobs that are sticky by tenant, whose sizes follow Zipf's law and whose failure rates differ. */
export interface TenantModel {
  readonly tenants: number
  /** Intraclass correlation of failures within a tenant, 0 to 1. */
  readonly correlation: number
  /** Failure rate of the canary divided by that of the stable version. */
  readonly ratio: number
}

interface Tenant {
  readonly size: number
  readonly place: number
  readonly bucket: number
  readonly failure: number
}

export function tenantJobs({ tenants, correlation, ratio }: TenantModel, rates: Rates, random: Random): Population {
  const spread = 1 / correlation - 1
  const sizes = Array.from({ length: tenants }, (_, i) => 1 / (i + 1))
  const sum = sizes.reduce((a, b) => a + b, 0)
  const all = sizes.map((size): Tenant => {
    const failure = beta(rates.failure * spread, (1 - rates.failure) * spread, random)
    return { size: size / sum, place: random.next(), bucket: random.below(64), failure }
  })
  const aggregate = (chosen: readonly Tenant[], factor: number): readonly BucketTraffic[] => {
    const buckets = new Map<number, { weight: number; failures: number }>()
    for (const { size, bucket, failure } of chosen) {
      const { weight, failures } = buckets.get(bucket) ?? { weight: 0, failures: 0 }
      buckets.set(bucket, { weight: weight + size, failures: failures + size * Math.min(1, failure * factor) })
    }
    return [...buckets].map(([bucket, { weight, failures }]) => ({ ...rates, bucket, weight, failure: failures / weight }))
  }
  return {
    split: (share) => ({
      stable: aggregate(
        all.filter(({ place }) => place >= share),
        1,
      ),
      canary: aggregate(
        all.filter(({ place }) => place < share),
        ratio,
      ),
    }),
  }
}

/** A beta-distributed number, from two gamma-distributed ones. */
function beta(a: number, b: number, random: Random): number {
  const x = gamma(a, random)
  return x / (x + gamma(b, random))
}

/** A gamma-distributed number, by the method of Marsaglia and Tsang. */
function gamma(shape: number, random: Random): number {
  if (shape < 1) return gamma(shape + 1, random) * (1 - random.next()) ** (1 / shape)
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = random.normal()
    const v = (1 + c * x) ** 3
    if (v > 0 && Math.log(1 - random.next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
  }
}
