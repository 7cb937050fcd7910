import { useMemo } from 'preact/hooks'
import type { ConsoleData } from '../../../contract.js'
import { duration, percent, rate } from '../../format.js'
import type { Series } from '../../ui/chart.js'
import { Card } from '../../ui/layout.js'
import { Empty, Loaded } from '../../ui/states.js'
import { ChartGrid, type TitledChart } from '../chart-grid.js'
import type { Counts, CountsResponse } from './types.js'

const minuteMs = 60_000
/** Number of line colours. */
const hues = 6

/** Jobs, failures and run times of the last hour, one line per version. */
export function VersionCharts({ counts }: { readonly counts: ConsoleData<CountsResponse> }) {
  return (
    <Card title="Last hour, by version">
      <Loaded from={counts}>
        {({ counts: list, minutes }) => <Charts counts={list} minutes={minutes} now={counts.at ?? Date.now()} />}
      </Loaded>
    </Card>
  )
}

function Charts({ counts, minutes, now }: { readonly counts: readonly Counts[]; readonly minutes: number; readonly now: number }) {
  const charts = useMemo(() => chartsOf(counts, minutes, now), [counts, minutes, now])
  if (counts.length === 0) return <Empty title="No attempts in the last hour">Attempts appear here when they end.</Empty>
  return <ChartGrid charts={charts} />
}

/** Formats times below 1 ms with two digits, so that axis labels do not repeat. */
function runTime(ms: number): string {
  return ms > 0 && ms < 1 ? `${ms.toFixed(2)}\u00a0ms` : duration(ms)
}

function chartsOf(counts: readonly Counts[], minutes: number, now: number): readonly TitledChart[] {
  const last = Math.floor(now / minuteMs) * minuteMs
  const times = Array.from({ length: minutes }, (_, index) => last - (minutes - 1 - index) * minuteMs)
  const versions = [...new Set(counts.map(({ version }) => version ?? ''))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const found = new Map(counts.map((one) => [`${one.version ?? ''} ${one.minute === undefined ? '' : Date.parse(one.minute)}`, one]))
  const linesOf = (read: (one: Counts | undefined, at: number) => number | null): readonly Series[] =>
    versions.map((version, index) => ({
      label: version,
      hue: ((index % hues) + 1) as Series['hue'],
      values: times.map((at) => read(found.get(`${version} ${at}`), at)),
    }))
  // The current minute is divided by the part of it that has passed.
  const seconds = (at: number): number => Math.max(5, Math.min(60, (now - at) / 1000))
  const jobs = linesOf((one, at) => (one === undefined ? 0 : (one.completed + one.failed) / seconds(at)))
  const failed = linesOf((one) =>
    one === undefined || one.completed + one.failed === 0 ? null : one.failed / (one.completed + one.failed),
  )
  const slow = linesOf((one) => one?.p95Ms ?? null)
  return [
    { title: 'Jobs per second', chart: { times, format: rate, series: jobs } },
    { title: 'Failed attempts', chart: { times, format: percent, least: 0.05, series: failed } },
    { title: 'Run time, p95', chart: { times, format: runTime, series: slow } },
  ]
}
