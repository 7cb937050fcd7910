import { type Credentials, includes, isMonitorKey } from '../access/credentials.js'
import type { Endpoint } from './endpoint.js'

/**
 * Returns why an endpoint must be disabled, or undefined. An endpoint must not receive events its owner cannot see. Only API keys of the
 * monitor are checked; they are revoked by removing them from the options.
 */
export function ownerFault({ owner, queues }: Pick<Endpoint, 'owner' | 'queues'>, keys: Pick<Credentials, 'grantOf'>): string | undefined {
  if (owner === null || !isMonitorKey(owner)) return undefined
  const grant = keys.grantOf(owner.id)
  if (grant === undefined) return `its API key ${owner.id} was revoked`
  if (!includes(grant.permissions, 'admin')) return `its API key ${owner.id} no longer has the permission admin`
  const granted = grant.queues
  if (granted === '*') return undefined
  const left = queues === '*' ? ['*'] : queues.filter((queue) => !granted.includes(queue))
  return left.length === 0 ? undefined : `its API key ${owner.id} no longer covers the queues ${left.slice(0, 5).join(', ')}`
}
