import type { HookReport, PluginReport, RouteInfo, SettingReport } from 'zin'

/** The plugins, hooks, routes and settings of a process. */
export interface PluginsResponse {
  readonly plugins: readonly PluginReport[]
  readonly hooks: readonly HookReport[]
  readonly routes: readonly Omit<RouteInfo, 'credentials'>[]
  readonly settings: readonly SettingReport[]
}

/** Returns the boot time of a plugin, in ms. */
export function bootMs({ timings }: PluginReport): number {
  return (timings.setup ?? 0) + (timings.start ?? 0) + (timings.ready ?? 0)
}
