// Facts about webhook endpoints, from their latest deliveries. Pure.
import { type AttentionFact, countText } from 'zin'
import type { Delivery } from '../deliveries/delivery.js'
import type { EndpointView } from '../webhooks/endpoint.js'
import { oneLine } from './item.js'

export interface EndpointDeliveries {
  /** See {@link failedDeliveries}. */
  readonly failing: readonly Delivery[]
  readonly delivered: readonly Delivery[]
}

/** Deliveries that were accepted are kept for a day, so that nobody knows whether an earlier failure is over. */
const dayMs = 86_400_000

/** Deliveries that failed on their last attempt, in the last day. */
export function failedDeliveries(deliveries: readonly Delivery[], now: number): readonly Delivery[] {
  return deliveries.filter(
    (one) => (one.state === 'failed' || (one.state === 'pending' && one.attempts > 0 && one.error !== null)) && timeOf(one) > now - dayMs,
  )
}

/** Whether older deliveries that were accepted could show that an endpoint works again. `delivered`: the newest ones, empty if none was read. */
export function isUndecided(failing: readonly Delivery[], delivered: readonly Delivery[]): boolean {
  const oldest = Math.min(...delivered.map(timeOf))
  const newest = new Map<string, number>()
  for (const one of failing) newest.set(one.endpoint, Math.max(newest.get(one.endpoint) ?? 0, timeOf(one)))
  const works = new Set(delivered.filter((one) => timeOf(one) > (newest.get(one.endpoint) ?? 0)).map(({ endpoint }) => endpoint))
  return [...newest].some(([endpoint, at]) => !works.has(endpoint) && at < oldest)
}

/**
 * An endpoint whose latest deliveries fail, or that was disabled because its receiver wants no more. Once a later delivery has been accepted,
 * it works again; earlier ones that failed stay in the log of deliveries, where they can be sent again.
 */
export function webhookFacts(endpoint: EndpointView, { delivered, failing }: EndpointDeliveries): readonly AttentionFact[] {
  const { disabled, id, queues, target } = endpoint
  const queue = queues === '*' ? '*' : queues.length === 1 ? queues[0] : undefined
  const subject = `webhook:${id}`
  const act = { label: 'See its deliveries', href: `/api/queue/webhooks/deliveries?endpoint=${encodeURIComponent(id)}` }
  const fact = { subject, ...(queue === undefined ? {} : { queue }), act }
  if (disabled !== null) {
    // A person who disabled it knows.
    if (disabled.reason.startsWith('by ')) return []
    const cause = `The webhook ${id} to ${target} gets no more events, because it was disabled: ${oneLine(disabled.reason, 200)}. Enable it, or remove it`
    return [{ ...fact, kind: 'webhook-disabled', cause, since: Date.parse(disabled.at) }]
  }
  // What failed before it was enabled again says nothing about it.
  const lastGood = Math.max(Date.parse(endpoint.createdAt), ...delivered.map(timeOf))
  const bad = failing.filter((one) => timeOf(one) > lastGood)
  if (bad.length === 0) return []
  const dead = bad.filter(({ state }) => state === 'failed').length
  const trying = bad.length - dead
  const parts = [
    ...(dead > 0 ? [`${countText(dead, 'delivery', 'deliveries')} failed after all attempts`] : []),
    ...(trying > 0 ? [`${countText(trying, 'delivery', 'deliveries')} failed and will be tried again`] : []),
  ]
  const [last] = bad.toSorted((a, b) => timeOf(b) - timeOf(a))
  const cause = `The webhook ${id} does not reach ${target}: ${parts.join(', ')}. The last error: ${oneLine(last?.error ?? 'none', 200)}. Mend the receiver and send them again, or remove the webhook`
  const since = Math.min(...bad.map(({ createdAt }) => Date.parse(createdAt)))
  return [{ ...fact, kind: 'webhook-failing', severity: 'bad', cause, count: bad.length, since }]
}

/** When its last attempt was, in ms since 1970. */
function timeOf({ createdAt, endedAt, tries }: Delivery): number {
  return Date.parse(endedAt ?? tries.at(-1)?.at ?? createdAt)
}
