import type { MetricExemplar, MetricHistogram, MetricValue } from 'zin'

export interface SeriesSpec {
  readonly name: string
  readonly help: string
  /** Label names, in the order in which values are passed. */
  readonly labels: readonly string[]
  /** Maximum number of series. Default 1000. */
  readonly maxSeries?: number
  /** Returns the label values to use once `maxSeries` is reached. Default: every value is `other`. */
  readonly beyond?: (values: readonly string[]) => readonly string[]
}

/** Series that share their first label values. One map per label, because joining the values into one key costs more than counting. */
interface Branch<T> {
  readonly next: Map<string, Branch<T>>
  of?: T
}

/** One series per combination of label values, up to a limit. */
class Series<T> {
  readonly #spec: SeriesSpec
  readonly #make: () => T
  readonly #root: Branch<T> = { next: new Map() }
  readonly #all: { readonly values: readonly string[]; readonly of: T }[] = []

  constructor(spec: SeriesSpec, make: () => T) {
    this.#spec = spec
    this.#make = make
  }

  of(values: readonly string[]): T {
    const known = this.#find(values)
    if (known !== undefined) return known
    const { beyond = allOther, maxSeries = 1000 } = this.#spec
    if (this.#all.length < maxSeries) return this.#add(values)
    const other = beyond(values)
    return this.#find(other) ?? this.#add(other)
  }

  map<S>(sample: (of: T, head: { name: string; help: string; labels: Record<string, string> }) => S): readonly S[] {
    const { help, labels: names, name } = this.#spec
    return this.#all.map(({ of, values }) => {
      const labels = Object.fromEntries(names.map((label, index) => [label, values[index] ?? '']))
      return sample(of, { name, help, labels })
    })
  }

  #find(values: readonly string[]): T | undefined {
    let branch: Branch<T> | undefined = this.#root
    for (let label = 0; label < values.length && branch !== undefined; label++) branch = branch.next.get(values[label] as string)
    return branch?.of
  }

  #add(values: readonly string[]): T {
    let branch = this.#root
    for (const value of values) {
      const next: Branch<T> = branch.next.get(value) ?? { next: new Map() }
      branch.next.set(value, next)
      branch = next
    }
    const of = this.#make()
    branch.of = of
    this.#all.push({ values: [...values], of })
    return of
  }
}

const allOther = (values: readonly string[]): readonly string[] => values.map(() => 'other')

/**
 * A counter with labels for the hook `collectMetrics`. Label values may be external input: beyond `maxSeries`, they are counted as `other`.
 *
 * @example
 * const mails = new SeriesCounter({ name: 'shop_mails_total', help: 'Mails by template', labels: ['template'] })
 * mails.add(['welcome'])
 * ctx.hooks.on('collectMetrics', () => mails.samples())
 */
export class SeriesCounter {
  readonly #series: Series<{ value: number }>

  constructor(spec: SeriesSpec) {
    this.#series = new Series(spec, () => ({ value: 0 }))
  }

  /** @param values Label values, in the order of the labels. */
  add(values: readonly string[], by = 1): void {
    this.#series.of(values).value += by
  }

  samples(): readonly MetricValue[] {
    return this.#series.map(({ value }, head) => ({ ...head, type: 'counter' as const, value }))
  }
}

export interface SeriesHistogramSpec extends SeriesSpec {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[]
}

interface Buckets {
  readonly counts: number[]
  readonly exemplars: (MetricExemplar | undefined)[]
  sum: number
}

/**
 * A histogram with labels for the hook `collectMetrics`, limited like {@link SeriesCounter}.
 *
 * @example
 * const sizes = new SeriesHistogram({ name: 'shop_mail_bytes', help: 'Size of mails', labels: ['template'], bounds: [1000, 10_000, 100_000] })
 * sizes.observe(['welcome'], 2048)
 * ctx.hooks.on('collectMetrics', () => sizes.samples())
 */
export class SeriesHistogram {
  readonly #bounds: readonly number[]
  readonly #series: Series<Buckets>

  constructor(spec: SeriesHistogramSpec) {
    this.#bounds = [...spec.bounds]
    this.#series = new Series(spec, () => ({ counts: this.#bounds.map(() => 0).concat(0), exemplars: [], sum: 0 }))
  }

  /** @param exemplar Trace id and time of the value. */
  observe(values: readonly string[], value: number, exemplar?: { readonly traceId: string; readonly at: number }): void {
    const buckets = this.#series.of(values)
    let bucket = 0
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++
    buckets.counts[bucket] = (buckets.counts[bucket] ?? 0) + 1
    buckets.sum += value
    if (exemplar !== undefined) buckets.exemplars[bucket] = { ...exemplar, value }
  }

  samples(): readonly MetricHistogram[] {
    const bounds = this.#bounds
    return this.#series.map(({ counts, exemplars, sum }, head) => ({
      ...head,
      type: 'histogram' as const,
      bounds,
      counts: [...counts],
      exemplars: [...exemplars],
      sum,
    }))
  }
}
