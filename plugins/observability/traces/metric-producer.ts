import { ValueType } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import type { MetricHistogram, MetricSample } from 'zin'
import type { MetricFamily } from '../contract.js'

type Time = [seconds: number, nanoseconds: number]

/** Creates a producer that passes the metrics of all plugins to the SDK. */
export function metricProducer(collect: () => Promise<readonly MetricFamily[]>, startedAt: number): MetricProducer {
  return {
    async collect(): Promise<CollectionResult> {
      const times = { startTime: timeOf(startedAt), endTime: timeOf(Date.now()) }
      const metrics = (await collect()).map((family) => metricOf(family, times))
      return { resourceMetrics: { resource: resourceFromAttributes({}), scopeMetrics: [{ scope: { name: 'zin' }, metrics }] }, errors: [] }
    },
  }
}

function metricOf({ help, name, samples, type }: MetricFamily, times: { readonly startTime: Time; readonly endTime: Time }): MetricData {
  const base = {
    descriptor: { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const point = <V>({ labels = {} }: MetricSample, value: V) => ({ ...times, attributes: { ...labels }, value })
  if (type === 'histogram') {
    const dataPoints = (samples as readonly MetricHistogram[]).map((sample) => {
      const { bounds, counts, sum } = sample
      const count = counts.reduce((total, one) => total + one, 0)
      return point(sample, { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count })
    })
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints }
  }
  const dataPoints = samples.map((sample) => point(sample, (sample as { readonly value: number }).value))
  if (type === 'gauge') return { ...base, dataPointType: DataPointType.GAUGE, dataPoints }
  return { ...base, dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true }
}

function timeOf(ms: number): Time {
  return [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1e6)]
}

/** Returns the UCUM unit of a metric. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's'
  return /_bytes(_total)?$/.test(name) ? 'By' : '1'
}
