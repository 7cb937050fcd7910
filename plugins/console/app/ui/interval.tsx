import { intervalDomain } from './interval-domain.js'

interface IntervalProps {
  /** Text alternative. */
  readonly label: string
  /** The measured difference; above 0 is worse. */
  readonly difference: number
  /** Half the width of the interval. */
  readonly halfWidth: number
  /** Differences up to this are tolerated. */
  readonly limit: number
  readonly tone: 'neutral' | 'ok' | 'bad'
  /** Formats a value of the axis. */
  readonly format: (value: number) => string
}

/** Draws a difference as a dot with its interval, against zero and the limit. */
export function Interval({ difference, format, halfWidth, label, limit, tone }: IntervalProps) {
  const x = intervalDomain(difference, halfWidth, limit)
  const [low, high] = [x(difference - halfWidth), x(difference + halfWidth)]
  return (
    <svg class={`interval ${tone}`} role="img" aria-label={label} width="100%" height="44">
      <rect class="interval-beyond" x={`${x(limit)}%`} y="0" width={`${100 - x(limit)}%`} height="26" />
      <line class="interval-zero" x1={`${x(0)}%`} x2={`${x(0)}%`} y1="0" y2="26" />
      <line class="interval-limit" x1={`${x(limit)}%`} x2={`${x(limit)}%`} y1="0" y2="26" />
      <line class="interval-span" x1={`${low}%`} x2={`${high}%`} y1="13" y2="13" />
      <line class="interval-span" x1={`${low}%`} x2={`${low}%`} y1="8" y2="18" />
      <line class="interval-span" x1={`${high}%`} x2={`${high}%`} y1="8" y2="18" />
      <circle class="interval-dot" cx={`${x(difference)}%`} cy="13" r="4.5" />
      <text x={`${x(0)}%`} y="40" text-anchor="middle">
        equal
      </text>
      <text x={`${x(limit)}%`} y="40" text-anchor={x(limit) - x(0) < 18 ? 'start' : 'middle'}>
        limit {format(limit)}
      </text>
    </svg>
  )
}
