import type { Actor } from 'zin/plugins/ops'
import { monitorErrors } from '../errors.js'

/**
 * `read`: see statistics and jobs. `write`: act on jobs and queues. `admin`: purge queues and manage webhooks. `payload:read`: see payloads
 * and logs.
 */
export type MonitorPermission = 'read' | 'write' | 'admin' | 'payload:read'

/** The access of a caller. */
export interface Scope {
  /** The caller, for audit logs. */
  readonly actor: Actor
  /** The queues it covers. */
  readonly queues: readonly string[] | '*'
  /** Whether the caller may see the jobs and statistics of a queue. */
  sees(queue: string): boolean
  may(permission: MonitorPermission): boolean
  /** Whether a permission was granted explicitly: by a credential of the monitor, or to a role in the options of `ops`. */
  granted(permission: MonitorPermission): boolean
}

/** Names of queues, or `*` for all of them, also within a list. */
export type QueueNames = readonly string[] | '*'

/** Returns `*` for a list that contains it. */
export function queueNamesOf(queues: QueueNames): QueueNames {
  return queues === '*' || queues.includes('*') ? '*' : queues
}

/** Returns the unrestricted scope of code in the app. */
export function pluginScope(plugin: string): Scope {
  return { actor: { kind: 'plugin', id: plugin, via: 'plugin' }, queues: '*', sees: () => true, may: () => true, granted: () => true }
}

/** Throws MONITOR_FORBIDDEN (403) without the permission. */
export function demand(scope: Scope, permission: MonitorPermission): void {
  if (!scope.may(permission)) throw monitorErrors.MONITOR_FORBIDDEN(`This requires the permission ${permission}`)
}

/** Throws QUEUE_NOT_FOUND (404) for a queue outside the scope, as if it did not exist. */
export function demandQueue(scope: Scope, queue: string): void {
  if (!scope.sees(queue)) throw monitorErrors.QUEUE_NOT_FOUND(queue)
}
