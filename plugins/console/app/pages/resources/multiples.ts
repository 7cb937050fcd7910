// Builds resource charts from snapshots. Pure.
import type { ResourceTrend } from 'zin/plugins/resources'
import { bytes, duration, percent } from '../../format.js'
import type { Series } from '../../ui/chart.js'
import type { TitledChart } from '../chart-grid.js'
import type { Alert, Snapshot } from './types.js'

interface Multiple {
  readonly title: string
  /** Its name in trends and alerts. */
  readonly metric: ResourceTrend['metric']
  readonly rule?: string
  readonly of: (snapshot: Snapshot) => number | null
  readonly format: (value: number) => string
  readonly most?: number
  /** The value of which an alert threshold is a fraction. */
  readonly whole?: (snapshot: Snapshot) => number
}

const cores = (value: number): string => value.toFixed(value < 10 ? 2 : 0)

const multiples: readonly Multiple[] = [
  {
    title: 'Event loop utilization',
    metric: 'eventLoopUtilization',
    rule: 'event-loop-busy',
    of: (one) => one.eventLoopUtilization,
    format: percent,
    most: 1,
  },
  {
    title: 'Event loop delay, p99',
    metric: 'eventLoopDelayP99Ms',
    rule: 'event-loop-delay',
    of: (one) => one.eventLoopDelayP99Ms,
    format: duration,
  },
  { title: 'CPU cores', metric: 'cpuCores', of: (one) => one.cpuCores, format: cores },
  { title: 'Resident memory', metric: 'rss', of: (one) => one.rss, format: bytes },
  { title: 'Heap', metric: 'heapUsed', rule: 'heap', of: (one) => one.heapUsed, format: bytes, whole: (one) => one.heapLimit },
  { title: 'Store round trip', metric: 'storeMs', of: (one) => one.storeMs, format: duration },
]

/** Limit on lines per chart, so that they can be told apart. */
export const mostLines = 6
/** Limit on points per line. */
const mostPoints = 300

/** A forecast needs at least this many measured points. */
const fewPoints = 10

export interface MultiplesInput {
  readonly history: readonly Snapshot[]
  /** In the order of their colours. */
  readonly nodes: readonly string[]
  readonly alerts: readonly Alert[]
  readonly trends: readonly ResourceTrend[]
  readonly marks: readonly { readonly at: number; readonly text: string }[]
  readonly hours: number
  readonly now: number
}

/** Returns one chart per metric with one line per node: the mean of each time slot, with gaps where there are no measurements. */
export function chartsOf(input: MultiplesInput): readonly TitledChart[] {
  const { alerts, history, hours, marks, nodes, now, trends } = input
  const from = now - hours * 3_600_000
  const widest = Math.max(60_000, ...history.slice(0, 50).map(({ spanMs }) => spanMs * 1.5))
  const slotMs = Math.max((now - from) / mostPoints, Math.min(widest, (now - from) / 12))
  const slots = Math.ceil((now - from) / slotMs)
  const future = Math.ceil(slots / 10)
  const bySlot = new Map<string, Snapshot[]>()
  for (const snapshot of history) {
    const key = `${snapshot.node} ${Math.floor((Date.parse(snapshot.at) - from) / slotMs)}`
    bySlot.set(key, [...(bySlot.get(key) ?? []), snapshot])
  }
  return multiples.map(({ format, metric, most, of, rule, title, whole }) => {
    const lines = nodes.map(
      (node, index): Series => ({
        label: node,
        hue: hueOf(index),
        values: Array.from({ length: slots }, (_, slot) => mean((bySlot.get(`${node} ${slot}`) ?? []).map(of))),
      }),
    )
    const forecasts = nodes.flatMap((node, index): readonly Series[] => {
      const trend = trends.find((one) => one.node === node && one.metric === metric && one.direction !== 'steady')
      // A trend over few points is not reliable.
      const known = lines[index]?.values.filter((value) => value !== null).length ?? 0
      return trend === undefined || known < fewPoints
        ? []
        : [{ label: `${node}, forecast`, hue: hueOf(index), dashed: true, values: forecast(trend, slots, future, slotMs) }]
    })
    const ahead = forecasts.length === 0 ? 0 : future
    const alert = alerts.find((one) => one.rule === rule)
    const newest = history[0]
    const limit = alert === undefined ? undefined : alert.threshold * (whole === undefined || newest === undefined ? 1 : whole(newest))
    return {
      title,
      chart: {
        times: Array.from({ length: slots + ahead }, (_, slot) => Math.round(from + (slot + 0.5) * slotMs)),
        series: [
          ...lines.map((line) => padded(line, ahead)),
          ...forecasts,
          ...(limit === undefined
            ? []
            : [
                {
                  label: `alert above ${format(limit)}`,
                  hue: 5 as const,
                  dashed: true,
                  values: Array.from({ length: slots + ahead }, () => limit),
                },
              ]),
        ],
        format,
        ...(most === undefined ? {} : { least: most }),
        marks,
      },
    }
  })
}

function hueOf(index: number): Series['hue'] {
  return (index + 1) as Series['hue']
}

function padded(line: Series, ahead: number): Series {
  return { ...line, values: [...line.values, ...Array.from({ length: ahead }, () => null)] }
}

function forecast({ level, perHour }: ResourceTrend, slots: number, future: number, slotMs: number): readonly (number | null)[] {
  const perSlot = (perHour * slotMs) / 3_600_000
  return Array.from({ length: slots + future }, (_, slot) => (slot < slots - 1 ? null : Math.max(0, level + perSlot * (slot - slots + 1))))
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}
