import type { MetricHistogram, MetricSample } from 'zin'
import type { MetricFamily } from '../contract.js'

/**
 * Limits the number of series per metric. An included series stays included as long as it is reported, so that series do not come and go;
 * the remaining ones are aggregated into one series with the label values `other`: the sum, or the maximum for gauges.
 */
export class SeriesLimit {
  readonly #max: number
  /** The included series by metric. */
  #kept = new Map<string, ReadonlySet<string>>()

  constructor(max: number) {
    this.#max = max
  }

  apply(families: readonly MetricFamily[]): readonly MetricFamily[] {
    const kept = new Map<string, ReadonlySet<string>>()
    const limited = families.map((family) => {
      if (family.samples.length <= this.#max) return family
      const keyed = family.samples.map((sample) => [keyOf(sample), sample] as const)
      const before = this.#kept.get(family.name) ?? new Set()
      const places = [...keyed.filter(([key]) => before.has(key)), ...keyed.filter(([key]) => !before.has(key))]
      const inside = new Set(places.slice(0, this.#max).map(([key]) => key))
      kept.set(family.name, inside)
      const rest = keyed.filter(([key]) => !inside.has(key)).map(([, sample]) => sample)
      return { ...family, samples: [...keyed.filter(([key]) => inside.has(key)).map(([, sample]) => sample), ...asOne(rest)] }
    })
    this.#kept = kept
    return limited
  }
}

function keyOf({ labels = {} }: MetricSample): string {
  return JSON.stringify(
    Object.keys(labels)
      .sort()
      .map((name) => labels[name]),
  )
}

function asOne(samples: readonly MetricSample[]): readonly MetricSample[] {
  const [first] = samples
  if (first === undefined) return []
  const labels = Object.fromEntries(Object.keys(first.labels ?? {}).map((name) => [name, 'other']))
  if (first.type === 'histogram') {
    const all = samples as readonly MetricHistogram[]
    const counts = first.counts.map((_, bucket) => all.reduce((sum, one) => sum + (one.counts[bucket] ?? 0), 0))
    return [{ ...first, labels, counts, exemplars: [], sum: all.reduce((sum, one) => sum + one.sum, 0) }]
  }
  const values = (samples as readonly { readonly value: number }[]).map(({ value }) => value)
  const value = first.type === 'counter' ? values.reduce((sum, one) => sum + one, 0) : values.reduce((most, one) => Math.max(most, one))
  return [{ ...first, labels, value }]
}
