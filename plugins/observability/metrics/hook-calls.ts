import type { HookReport, MetricSample } from 'zin'

const columns = [
  { field: 'calls', name: 'zin_hook_calls_total', help: 'Calls of listeners, by hook and plugin' },
  { field: 'errors', name: 'zin_hook_errors_total', help: 'Calls of listeners that failed' },
  { field: 'timeouts', name: 'zin_hook_timeouts_total', help: 'Calls of listeners that exceeded the timeout of the hook' },
  {
    field: 'dropped',
    name: 'zin_hook_dropped_total',
    help: 'Calls that never reached a listener because its queue was full or it was muted',
  },
] as const

/** Returns call counts of hook listeners; listeners that were never called are left out. */
export function hookMetrics(hooks: readonly HookReport[]): readonly MetricSample[] {
  return columns.flatMap(({ field, help, name }) =>
    hooks.flatMap(({ listeners, name: hook }) => {
      const byPlugin = new Map<string, number>()
      for (const listener of listeners) {
        if (listener.calls > 0 || listener.dropped > 0)
          byPlugin.set(listener.plugin, (byPlugin.get(listener.plugin) ?? 0) + listener[field])
      }
      return [...byPlugin].map(([plugin, value]) => ({ name, help, type: 'counter' as const, value, labels: { hook, plugin } }))
    }),
  )
}
