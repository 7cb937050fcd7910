import { Chart, type ChartProps } from '../ui/chart.js'

/** A chart with a title. */
export interface TitledChart {
  readonly title: string
  readonly chart: Omit<ChartProps, 'label'>
}

const height = 150

/** A grid of charts. */
export function ChartGrid({ charts }: { readonly charts: readonly TitledChart[] }) {
  return (
    <div class="charts">
      {charts.map(({ chart, title }) => (
        <section key={title} aria-label={title}>
          <h3>
            {title} <b>{newestOf(chart)}</b>
          </h3>
          <Chart height={height} {...chart} label={`${title}. ${summaryOf(chart)}`} />
        </section>
      ))}
    </div>
  )
}

/** The newest value of a chart with a single line. */
function newestOf({ format, series }: TitledChart['chart']): string {
  const lines = series.filter(({ dashed }) => dashed !== true)
  const last = lines.length === 1 ? lines[0]?.values.findLast((value) => value !== null) : undefined
  return last === undefined || last === null ? '' : format(last)
}

function summaryOf({ format, series }: TitledChart['chart']): string {
  const parts = series.flatMap(({ dashed, label, values }) => {
    const known = values.filter((value) => value !== null)
    return dashed === true || known.length === 0 ? [] : [`${label}, at most ${format(Math.max(...known))}`]
  })
  return parts.length === 0 ? 'No measurements' : parts.join('; ')
}
