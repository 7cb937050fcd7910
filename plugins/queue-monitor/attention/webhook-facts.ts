// Facts about webhook endpoints, from their latest deliveries. Pure.
import { type AttentionFact, countText } from 'zin'
import type { Delivery } from '../deliveries/delivery.js'
import type { EndpointView } from '../webhooks/endpoint.js'
import { oneLine } from './item.js'

export interface EndpointDeliveries {
  /** The latest ones in each state, newest first. */
  readonly failed: readonly Delivery[]
  readonly pending: readonly Delivery[]
  readonly delivered: readonly Delivery[]
}

/**
 * An endpoint whose latest deliveries fail, or that was disabled because its receiver wants no more. Once a later delivery has been accepted,
 * it works again; earlier ones that failed stay in the log of deliveries, where they can be sent again.
 */
export function webhookFacts(endpoint: EndpointView, { delivered, failed, pending }: EndpointDeliveries): readonly AttentionFact[] {
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
  const lastGood = Math.max(0, ...delivered.map(timeOf))
  const dead = failed.filter((one) => timeOf(one) > lastGood)
  const trying = pending.filter((one) => one.attempts > 0 && one.error !== null && timeOf(one) > lastGood)
  const bad = [...dead, ...trying]
  if (bad.length === 0) return []
  const parts = [
    ...(dead.length > 0 ? [`${countText(dead.length, 'delivery', 'deliveries')} failed after all attempts`] : []),
    ...(trying.length > 0 ? [`${countText(trying.length, 'delivery', 'deliveries')} failed and will be tried again`] : []),
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
