import type { HookReport, PluginReport, RouteInfo, SettingReport } from 'zin'

/** What a process of the app is made of. */
export interface PluginsResponse {
  readonly plugins: readonly PluginReport[]
  readonly hooks: readonly HookReport[]
  readonly routes: readonly RouteInfo[]
  readonly settings: readonly SettingReport[]
}

/** Time that the app spent on a plugin until it was ready, ms. */
export function bootMs({ timings }: PluginReport): number {
  return (timings.setup ?? 0) + (timings.start ?? 0) + (timings.ready ?? 0)
}
