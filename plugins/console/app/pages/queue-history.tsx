import { useMemo } from 'preact/hooks'
import type { HistoryPoint, HistoryTier } from 'zin/plugins/queue-monitor'
import type { ConsolePlace } from '../../contract.js'
import { useData } from '../data/use-data.js'
import { count, duration } from '../format.js'
import { path, setQuery } from '../router.js'
import { Chart } from '../ui/chart.js'
import { Card } from '../ui/layout.js'
import { Loaded } from '../ui/states.js'

const ranges: readonly { readonly tier: HistoryTier; readonly title: string; readonly stepMs: number }[] = [
  { tier: 'minute', title: '2 hours', stepMs: 60_000 },
  { tier: 'hour', title: '7 days', stepMs: 3_600_000 },
  { tier: 'day', title: '90 days', stepMs: 86_400_000 },
]

/** Charts of a queue's history over a selectable range. */
export function QueueHistory({ name, place }: { readonly name: string; readonly place: ConsolePlace }) {
  const range = ranges.find(({ tier }) => tier === place.query.get('range')) ?? ranges[0]
  if (range === undefined) return null
  return (
    <>
      <fieldset class="segmented">
        <legend class="visually-hidden">Range</legend>
        {ranges.map(({ tier, title }) => (
          <label key={tier}>
            <input type="radio" name="range" checked={tier === range.tier} onChange={() => setQuery({ range: tier })} />
            <span>{title}</span>
          </label>
        ))}
      </fieldset>
      <div class="after-filters">
        <Lines name={name} tier={range.tier} stepMs={range.stepMs} />
      </div>
    </>
  )
}

function Lines({ name, stepMs, tier }: { readonly name: string; readonly tier: HistoryTier; readonly stepMs: number }) {
  const history = useData<{ points: readonly HistoryPoint[] }>(`${path`/api/queue/${name}/history`}?tier=${tier}`, { refresh: 30_000 })
  return <Loaded from={history}>{({ points }) => <Charts points={points} stepMs={stepMs} />}</Loaded>
}

function Charts({ points, stepMs }: { readonly points: readonly HistoryPoint[]; readonly stepMs: number }) {
  const { lines, times } = useMemo(() => linesOf(points, stepMs), [points, stepMs])
  return (
    <div class="columns">
      <Card title="Attempts">
        <Chart
          label="Completed and failed attempts"
          times={times}
          format={count}
          series={[
            { label: 'completed', hue: 1, values: lines.completed },
            { label: 'failed', hue: 5, values: lines.failed },
          ]}
        />
      </Card>
      <Card title="Run time">
        <Chart
          label="Median and 95th percentile of run times"
          times={times}
          least={100}
          format={duration}
          series={[
            { label: 'median', hue: 3, values: lines.p50 },
            { label: 'p95', hue: 4, values: lines.p95, dashed: true },
          ]}
        />
      </Card>
      <Card title="Size">
        <Chart
          label="Jobs that have not run yet"
          times={times}
          format={count}
          series={[{ label: 'not run yet', hue: 2, values: lines.size }]}
        />
      </Card>
      <Card title="Oldest waiting job">
        <Chart
          label="Age of the oldest waiting job"
          times={times}
          least={1000}
          format={duration}
          series={[{ label: 'age', hue: 6, values: lines.oldest }]}
        />
      </Card>
    </div>
  )
}

/** Puts points on a regular time grid; null where there is no sample. */
function linesOf(points: readonly HistoryPoint[], stepMs: number) {
  const byTime = new Map(points.map((point) => [Date.parse(point.at), point]))
  const [first, last] = [Math.min(...byTime.keys()), Math.max(...byTime.keys())]
  const times: number[] = []
  if (points.length > 0) for (let at = first; at <= last; at += stepMs) times.push(at)
  const line = (value: (point: HistoryPoint) => number | null): readonly (number | null)[] =>
    times.map((at) => {
      const point = byTime.get(at)
      return point === undefined ? null : value(point)
    })
  return {
    times,
    lines: {
      completed: line(({ completed }) => completed),
      failed: line(({ failed }) => failed),
      size: line(({ size }) => size),
      oldest: line(({ oldestWaitingMs }) => oldestWaitingMs ?? 0),
      p50: line(({ processingTime }) => processingTime?.p50 ?? null),
      p95: line(({ processingTime }) => processingTime?.p95 ?? null),
    },
  }
}
