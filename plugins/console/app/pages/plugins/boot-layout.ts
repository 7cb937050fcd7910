// Computes the layout of the boot graph. Pure.
import type { PluginReport } from 'zin'
import { grouped } from '../../../shared/group.js'

export const boxHeight = 28
/** Characters of a name that fit in a box; longer names are cut. */
export const mostShown = 15
/** Width of a character, of the space around a name, and of the narrowest box. */
const letterWidth = 7
const padding = 22
const leastWidth = 48
const columnGap = 26
const rowGap = 8
const margin = 2

export interface PlacedPlugin {
  readonly plugin: PluginReport
  readonly x: number
  readonly y: number
  readonly width: number
}

export interface PlacedEdge {
  readonly from: PlacedPlugin
  readonly to: PlacedPlugin
  /** A transitive edge: the boot order would be the same without it. */
  readonly implied: boolean
}

export interface BootLayout {
  readonly width: number
  readonly height: number
  readonly boxes: readonly PlacedPlugin[]
  readonly edges: readonly PlacedEdge[]
}

/**
 * Lays out one column per level of the boot order, as wide as its longest name, so that every edge points to the right. Plugins are placed
 * near the plugins they depend on.
 */
export function bootLayout(plugins: readonly PluginReport[]): BootLayout {
  const boxes = new Map<string, PlacedPlugin>()
  const levels = [...grouped(plugins, ({ level }) => level)].sort(([a], [b]) => a - b)
  let x = margin
  for (const [, ofLevel] of levels) {
    const wish = (plugin: PluginReport): number => {
      const needed = plugin.after.flatMap((name) => boxes.get(name)?.y ?? [])
      return needed.length === 0 ? 0 : needed.reduce((sum, y) => sum + y, 0) / needed.length
    }
    const sorted = [...ofLevel].sort((a, b) => wish(a) - wish(b) || a.name.localeCompare(b.name))
    const longest = Math.max(...ofLevel.map(({ name }) => Math.min(name.length, mostShown)))
    const width = Math.max(leastWidth, longest * letterWidth + padding)
    for (const [row, plugin] of sorted.entries()) boxes.set(plugin.name, { plugin, x, y: margin + row * (boxHeight + rowGap), width })
    x += width + columnGap
  }
  const edges = [...boxes.values()].flatMap((to) =>
    to.plugin.after.flatMap((name): readonly PlacedEdge[] => {
      const from = boxes.get(name)
      return from === undefined ? [] : [{ from, to, implied: isImplied(name, to.plugin, boxes) }]
    }),
  )
  const most = Math.max(0, ...levels.map(([, ofLevel]) => ofLevel.length))
  return {
    width: Math.max(margin, x - columnGap) + margin,
    height: Math.max(0, most * (boxHeight + rowGap) - rowGap) + 2 * margin,
    boxes: [...boxes.values()],
    edges,
  }
}

/** Whether another dependency of the plugin depends on `name`, directly or transitively. */
function isImplied(name: string, plugin: PluginReport, boxes: ReadonlyMap<string, PlacedPlugin>): boolean {
  const seen = new Set<string>()
  const open = plugin.after.filter((other) => other !== name)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === name) return true
    if (seen.has(next)) continue
    seen.add(next)
    open.push(...(boxes.get(next)?.plugin.after ?? []))
  }
  return false
}
