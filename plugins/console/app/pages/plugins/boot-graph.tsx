import { useMemo } from 'preact/hooks'
import type { PluginReport } from 'zin'
import { base, router } from '../../router.js'
import { type BootLayout, bootLayout, boxHeight, mostShown, type PlacedEdge, type PlacedPlugin } from './boot-layout.js'

/** The dependency graph of the plugins, from left to right in boot order. */
export function BootGraph({ chosen, plugins }: { readonly plugins: readonly PluginReport[]; readonly chosen: string }) {
  const layout = useMemo(() => bootLayout(plugins), [plugins])
  const near = useMemo(() => neighbours(layout, chosen), [layout, chosen])
  return (
    <section class="graph-box" aria-label="Boot graph">
      <svg class={chosen === '' ? 'graph' : 'graph focused'} width={layout.width} height={layout.height}>
        <title>Dependencies between plugins</title>
        {layout.edges.map((edge) => (
          <Edge key={`${edge.from.plugin.name} ${edge.to.plugin.name}`} edge={edge} chosen={chosen} />
        ))}
        {layout.boxes.map((box) => (
          <Box key={box.plugin.name} box={box} chosen={chosen} near={near.has(box.plugin.name)} />
        ))}
      </svg>
    </section>
  )
}

function neighbours({ edges }: BootLayout, chosen: string): ReadonlySet<string> {
  return new Set(
    edges.flatMap(({ from, to }) => (from.plugin.name === chosen || to.plugin.name === chosen ? [from.plugin.name, to.plugin.name] : [])),
  )
}

function Edge({ chosen, edge: { from, implied, to } }: { readonly edge: PlacedEdge; readonly chosen: string }) {
  const [x1, y1] = [from.x + from.width, from.y + boxHeight / 2]
  const [x2, y2] = [to.x, to.y + boxHeight / 2]
  const bend = Math.min(22, (x2 - x1) / 2)
  const lit = from.plugin.name === chosen || to.plugin.name === chosen
  if (implied && !lit) return null
  return <path class={lit ? 'edge lit' : 'edge'} d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} />
}

function Box({
  box: { plugin, width, x, y },
  chosen,
  near,
}: {
  readonly box: PlacedPlugin
  readonly chosen: string
  readonly near: boolean
}) {
  const { name, state } = plugin
  const mine = name === chosen
  const to = mine ? '/plugins' : `/plugins?plugin=${encodeURIComponent(name)}`
  return (
    <a
      href={`${base}${to}`}
      class={`box ${state === 'failed' ? 'bad' : ''} ${mine ? 'chosen' : ''} ${near ? 'near' : ''}`}
      aria-label={`${name}, ${state}`}
      aria-current={mine ? 'true' : undefined}
      onClick={(event: MouseEvent) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        router.go(to, true)
      }}
    >
      <title>{name}</title>
      <rect x={x} y={y} width={width} height={boxHeight} rx="6" />
      <text x={x + 10} y={y + boxHeight / 2 + 4}>
        {name.length > mostShown ? `${name.slice(0, mostShown - 1)}…` : name}
      </text>
    </a>
  )
}
