import type { BootReport } from '../../service.js'
import { Value } from './signal.js'

/** The response of `/api/console/boot`; undefined until it is loaded. */
export const session = new Value<BootReport | undefined>(undefined)

/** Whether the caller has the permission and the console is not read-only. */
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

/** Called on a 401: the session may have ended. */
let onUnauthorized: () => void = () => undefined
export function whenUnauthorized(listener: () => void): void {
  onUnauthorized = listener
}

/** Tells that a request was answered with 401. */
export function unauthorized(): void {
  onUnauthorized()
}
