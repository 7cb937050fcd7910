import type { OwnedCommand } from './command.js'
import type { PluginGraph } from './graph.js'
import type { PluginUnit } from './unit.js'
import type { HostView, PluginReport } from './view.js'

/** What a boot would do, for review and for diffs in CI. */
export interface BootPlan {
  readonly app: string
  readonly order: readonly string[]
  readonly levels: readonly (readonly string[])[]
  readonly plugins: readonly {
    readonly name: string
    readonly version: string
    readonly why: readonly string[]
    readonly provides: readonly string[]
  }[]
  readonly hooks: readonly { readonly name: string; readonly kind: string; readonly owner: string; readonly listeners: readonly string[] }[]
  readonly routes: readonly { readonly method: string; readonly path: string; readonly plugin: string; readonly use: readonly string[] }[]
  readonly commands: readonly { readonly name: string; readonly plugin: string }[]
  readonly migrations: readonly { readonly plugin: string; readonly id: string }[]
  /** Names only, because values differ between machines. */
  readonly settings: readonly string[]
}

export function bootPlan(view: HostView, graph: PluginGraph, commands: readonly OwnedCommand[]): BootPlan {
  const reports = new Map(view.plugins().map((plugin) => [plugin.name, plugin]))
  return {
    app: view.app.name,
    order: graph.order,
    levels: graph.levels,
    plugins: graph.order.map((name) => {
      const { version, why, provides } = reports.get(name) as PluginReport
      return { name, version, why, provides }
    }),
    hooks: view
      .hooks()
      .map(({ name, kind, owner, listeners }) => ({ name, kind, owner, listeners: listeners.map((listener) => listener.plugin) })),
    routes: view.routes().map(({ method, path, plugin, use }) => ({ method, path, plugin, use })),
    commands: commands.map(({ plugin, command }) => ({ name: command.name, plugin })),
    migrations: view.migrations().map(({ plugin, migration }) => ({ plugin, id: migration.id })),
    settings: view.settings().map((setting) => setting.name),
  }
}

export function reportUnit(unit: PluginUnit, graph: PluginGraph): PluginReport {
  const { name, version, description = '', author = '', provides = [], attention = {} } = unit.plugin.spec
  const edges = graph.edgesOf(name)
  const report = {
    name,
    version,
    description,
    author,
    state: unit.state,
    after: [...new Set(edges.map((edge) => edge.on))],
    why:
      edges.length > 0
        ? edges.map((edge) => `after ${edge.on} (${edge.why})`)
        : ['anywhere: it depends on no other plugin, so the order of "plugins" decides'],
    level: graph.levels.findIndex((level) => level.includes(name)),
    timings: unit.timings,
    provides: provides.map((ref) => ref.id),
    attention: Object.keys(attention),
  }
  const detail = unit.describe()
  return { ...report, ...(detail === undefined ? {} : { detail }), ...(unit.error === undefined ? {} : { error: unit.error.message }) }
}
