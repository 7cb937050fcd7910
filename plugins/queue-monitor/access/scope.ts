import type { Actor } from 'zin/plugins/ops'
import { monitorErrors } from '../errors.js'

/** `read`: statistics and jobs. `write`: act on jobs and queues. `admin`: purge and webhooks. `payload:read`: see payloads and results. */
export type MonitorPermission = 'read' | 'write' | 'admin' | 'payload:read'

/** What a caller may see and do. */
export interface Scope {
  /** For audit logs. */
  readonly actor: Actor
  /** The queues it covers. */
  readonly queues: readonly string[] | '*'
  /** Whether jobs and statistics of a queue may be shown. */
  sees(queue: string): boolean
  may(permission: MonitorPermission): boolean
  /** Whether a permission was given by name: by a credential of the monitor, or to a role that `ops` lists for it. */
  granted(permission: MonitorPermission): boolean
}

/** The scope of code of the app, which may do everything. */
export function pluginScope(plugin: string): Scope {
  return { actor: { kind: 'plugin', id: plugin, via: 'plugin' }, queues: '*', sees: () => true, may: () => true, granted: () => true }
}

/** Throws MONITOR_FORBIDDEN (403). */
export function demand(scope: Scope, permission: MonitorPermission): void {
  if (!scope.may(permission)) throw monitorErrors.MONITOR_FORBIDDEN(`This requires the permission ${permission}`)
}

/** Throws QUEUE_NOT_FOUND (404), as for a queue that does not exist. */
export function demandQueue(scope: Scope, queue: string): void {
  if (!scope.sees(queue)) throw monitorErrors.QUEUE_NOT_FOUND(queue)
}
