import uPlot from 'uplot'
import { absolute } from '../absolute.js'
import type { ChartProps } from './chart.js'

const defaultHeight = 220

/** Draws a chart in the colours of the theme; the returned function removes it. */
export function drawChart(
  box: HTMLElement,
  { format, height = defaultHeight, least = 1, marks = [], onPick, series, times }: ChartProps,
): () => void {
  const colour = colours(box)
  const warn = colour('--warn')
  const axis: uPlot.Axis = {
    stroke: colour('--text-dim'),
    grid: { stroke: colour('--border'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  }
  const tip = document.createElement('div')
  tip.className = 'chart-tip'
  tip.hidden = true
  const plot = new uPlot(
    {
      width: Math.max(200, box.clientWidth),
      height,
      legend: { show: false },
      cursor: { sync: { key: 'console' }, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { y: { range: (_plot, _least, most) => [0, Math.max(least, (most ?? 0) * 1.1)] } },
      axes: [
        { ...axis, values: (_plot, splits) => splits.map((at, index) => timeLabel(at, splits[index - 1], splits)) },
        { ...axis, size: 64, values: (_plot, splits) => splits.map((value) => format(value)) },
      ],
      series: [
        {},
        ...series.map(
          ({ dashed, hue, label, values }): uPlot.Series => ({
            label,
            stroke: colour(`--series-${hue}`),
            width: 1.5,
            // A value between gaps has no line, so it is drawn as a point.
            points: { show: values.length <= 200 && values.includes(null), size: 4, fill: colour(`--series-${hue}`) },
            ...(dashed ? { dash: [4, 3] } : {}),
          }),
        ),
      ],
      hooks: {
        setCursor: [(self) => showTip(self, tip, { format, series, marks })],
        draw: [(self) => drawMarks(self, marks, warn)],
      },
    },
    [times.map((at) => at / 1000), ...series.map(({ values }) => [...values])],
    box,
  )
  plot.over.append(tip)
  const pick = (): void => {
    const at = times[plot.cursor.idx ?? -1]
    if (at !== undefined) onPick?.(at)
  }
  if (onPick !== undefined) plot.over.addEventListener('click', pick)
  const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, box.clientWidth), height }))
  observer.observe(box)
  return () => {
    observer.disconnect()
    plot.destroy()
  }
}

/** Resolves a theme colour to a value that a canvas accepts; the CSS variable itself holds one colour per theme. */
function colours(box: HTMLElement): (name: string) => string {
  return (name) => {
    const probe = box.appendChild(document.createElement('span'))
    probe.style.color = `var(${name})`
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

/** `14:05`, with the date where it changes. */
function timeLabel(at: number, before: number | undefined, [first = 0, second = 60]: readonly number[]): string {
  const date = new Date(at * 1000)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  const time = date.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(second - first < 60 ? { second: '2-digit' } : {}),
  })
  if (before !== undefined && new Date(before * 1000).toDateString() === date.toDateString()) return time
  return time.startsWith('00:00') ? day : `${time}\n${day}`
}

function showTip(
  plot: uPlot,
  tip: HTMLElement,
  { format, marks, series }: Required<Pick<ChartProps, 'format' | 'series' | 'marks'>>,
): void {
  const { idx, left = -1 } = plot.cursor
  const at = idx === null || idx === undefined ? undefined : plot.data[0][idx]
  if (at === undefined || left < 0) {
    tip.hidden = true
    return
  }
  const near = marks.filter((mark) => Math.abs(plot.valToPos(mark.at / 1000, 'x') - left) < 6)
  const lines = series.map(({ label, values }) => {
    const value = values[idx as number]
    return `${label}: ${value === null || value === undefined ? '–' : format(value)}`
  })
  tip.replaceChildren(
    ...[absolute(at * 1000).replace(/\.000/, ''), ...lines, ...near.map(({ text }) => text)].map((text) => {
      const line = document.createElement('div')
      line.textContent = text
      return line
    }),
  )
  tip.hidden = false
  const flip = left > plot.over.clientWidth / 2
  tip.style.left = flip ? '' : `${left + 12}px`
  tip.style.right = flip ? `${plot.over.clientWidth - left + 12}px` : ''
}

function drawMarks(plot: uPlot, marks: Required<ChartProps>['marks'], colour: string): void {
  const { ctx } = plot
  const { height, top } = plot.bbox
  ctx.save()
  ctx.strokeStyle = colour
  ctx.setLineDash([3, 3])
  for (const { at } of marks) {
    const x = Math.round(plot.valToPos(at / 1000, 'x', true))
    if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, top)
    ctx.lineTo(x, top + height)
    ctx.stroke()
  }
  ctx.restore()
}
