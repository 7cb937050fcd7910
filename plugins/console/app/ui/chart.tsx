import { useEffect, useRef, useState } from 'preact/hooks'
import { useValue } from '../data/signal.js'
import { systemIsDark, theme } from '../theme.js'
import { Empty, Loading } from './states.js'

export interface Series {
  readonly label: string
  readonly hue: 1 | 2 | 3 | 4 | 5 | 6
  readonly values: readonly (number | null)[]
  readonly dashed?: boolean
}

export interface ChartProps {
  /** Text alternative: a sentence that describes the chart. */
  readonly label: string
  /** In ms since the Unix epoch, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly height?: number
  /** Minimum for the top of the value axis. Default: 1. */
  readonly least?: number
  /** Events, drawn as vertical lines. */
  readonly marks?: readonly { readonly at: number; readonly text: string }[]
  /** Called when a point in time is clicked. */
  readonly onPick?: ((at: number) => void) | undefined
  /** Title of the empty state. */
  readonly empty?: string
}

type Draw = typeof import('./draw-chart.js')

/** A line chart over time. The chart library is loaded with the first chart. */
export function Chart(props: ChartProps) {
  const { empty = 'No samples in this range', label, series, times } = props
  const box = useRef<HTMLDivElement>(null)
  const [draw, setDraw] = useState<Draw | undefined>(undefined)
  const chosen = useValue(theme)
  const dark = useValue(systemIsDark)
  useEffect(() => void import('./draw-chart.js').then((loaded) => setDraw(() => loaded as never)), [])
  const known = times.length > 1
  useEffect(() => {
    if (draw === undefined || box.current === null || !known) return undefined
    return draw.drawChart(box.current, props)
  }, [draw, chosen, dark, props.times, props.series, known])
  if (!known) return <Empty title={empty}>A chart appears with the second sample.</Empty>
  return (
    <figure class="chart">
      <figcaption class="legend">
        <span class="visually-hidden">{label}</span>
        {series.map((one) => (
          <span key={one.label} class="legend-item">
            <svg class={`spark series-${one.hue}`} width="12" height="8" viewBox="0 0 12 8" aria-hidden="true">
              <path d="M0 4h12" stroke-dasharray={one.dashed ? '3 2' : undefined} />
            </svg>
            {one.label}
          </span>
        ))}
      </figcaption>
      {draw === undefined && <Loading what="Drawing" />}
      <div ref={box} class="plot" role="img" aria-label={label} />
    </figure>
  )
}
