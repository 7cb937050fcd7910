import type { Metric, RegistryContentType } from 'prom-client'
import type { MetricHistogram, MetricSample } from 'zin'
import type { MetricFamily, MetricsPage } from '../contract.js'

/** A line of a page, as prom-client expects it. */
interface Line {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly metricName?: string
  readonly exemplar?: { readonly labelSet: { readonly trace_id: string }; readonly value: number; readonly timestamp: number }
}

/** Renders metrics as text in the format that the `Accept` header requests. Loads prom-client with the first page. */
export async function render(families: readonly MetricFamily[], accept: string): Promise<MetricsPage> {
  const { Registry } = await import('prom-client')
  const type = wantsOpenMetrics(accept) ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE
  const registry = new Registry<RegistryContentType>()
  registry.setContentType(type)
  for (const { help, name, samples, type } of families) {
    const values = samples.flatMap(linesOf)
    const metric = {
      name,
      help,
      type,
      // prom-client renames counters for OpenMetrics.
      get: async () => ({ name: metric.name, help, type, values }),
    }
    registry.registerMetric(metric as unknown as Metric<string>)
  }
  return { contentType: registry.contentType, body: await registry.metrics() }
}

/** RFC 9110 12.5.1, simplified: the type is named, and not with q=0. */
function wantsOpenMetrics(accept: string): boolean {
  return accept
    .slice(0, 1000)
    .split(',')
    .map((one) => one.split(';').map((part) => part.trim().toLowerCase()))
    .some(([type, ...parameters]) => type === 'application/openmetrics-text' && !parameters.some((one) => /^q=0(\.0*)?$/.test(one)))
}

function linesOf(sample: MetricSample): readonly Line[] {
  const { labels = {} } = sample
  return sample.type === 'histogram' ? histogramLines(sample, labels) : [{ labels, value: sample.value }]
}

function histogramLines({ bounds, counts, exemplars = [], name, sum }: MetricHistogram, labels: Line['labels']): readonly Line[] {
  let total = 0
  const buckets = counts.map((count, bucket): Line => {
    total += count
    const bound = bounds[bucket]
    const exemplar = exemplars[bucket]
    return {
      metricName: `${name}_bucket`,
      labels: { ...labels, le: bound === undefined ? '+Inf' : decimal(bound) },
      value: total,
      ...(exemplar === undefined
        ? {}
        : { exemplar: { labelSet: { trace_id: exemplar.traceId }, value: exemplar.value, timestamp: exemplar.at / 1000 } }),
    }
  })
  return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: total }]
}

/** OpenMetrics requires a decimal point in every bound; using the same text in both formats keeps the series identical. */
function decimal(bound: number): string {
  const text = String(bound)
  return Number.isInteger(bound) && !text.includes('e') ? `${text}.0` : text
}
