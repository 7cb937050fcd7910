/** A small line chart, 96 × 20 px by default. Null values are gaps. `label` is the text alternative. */
export function Sparkline(props: {
  readonly values: readonly (number | null)[]
  readonly label: string
  readonly series?: 1 | 2 | 3 | 4 | 5 | 6
  readonly width?: number
  readonly height?: number
}) {
  const { height = 20, label, series = 1, values, width = 96 } = props
  const known = values.filter((value) => value !== null)
  const most = Math.max(...known, 0)
  if (known.length < 2)
    return <span class="spark-none" style={{ width: `${width}px` }} role="img" aria-label={`${label}: not enough samples yet`} />
  const x = (index: number): number => (index / (values.length - 1)) * (width - 2) + 1
  const y = (value: number): number => height - 2 - (most === 0 ? 0 : (value / most) * (height - 4))
  let pen = 'M'
  const line = values
    .map((value, index) => {
      if (value === null) {
        pen = 'M'
        return ''
      }
      const part = `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}`
      pen = 'L'
      return part
    })
    .join('')
  return (
    <svg class={`spark series-${series}`} viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
      <path d={line} />
    </svg>
  )
}
