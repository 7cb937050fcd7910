import type { BootReport } from '../../service.js'
import { Value } from './signal.js'

/** What the app told this page at its start; undefined until then. */
export const session = new Value<BootReport | undefined>(undefined)

/** Whether the caller may do something, and the console lets anybody do anything. */
export function can(what: 'write' | 'admin' | 'operate'): boolean {
  const boot = session.value
  return boot !== undefined && !boot.readOnly && boot.may[what]
}

export function refreshInterval(): number {
  return session.value?.refreshInterval ?? 5_000
}

export function isEnabled(plugin: string): boolean {
  return session.value?.plugins.includes(plugin) ?? false
}
