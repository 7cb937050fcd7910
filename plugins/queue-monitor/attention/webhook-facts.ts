// Facts about webhook endpoints, from what became of their latest deliveries. Pure.
import { type AttentionFact, countText } from 'zin'
import type { EndpointOutcome } from '../deliveries/outcomes.js'
import type { EndpointView } from '../webhooks/endpoint.js'
import { oneLine } from './item.js'

/** Somebody who has not mended it for a day knows. */
const dayMs = 86_400_000

/**
 * An endpoint whose latest deliveries fail, or that was disabled because its receiver wants no more. Once a later delivery has been accepted,
 * it works again; earlier ones that failed stay in the log of deliveries, where they can be sent again.
 */
export function webhookFacts(endpoint: EndpointView, outcome: EndpointOutcome | undefined, now: number): readonly AttentionFact[] {
  const { disabled, id, queues, target } = endpoint
  const queue = queues === '*' ? '*' : queues.length === 1 ? queues[0] : undefined
  const subject = `webhook:${id}`
  const act = { label: 'See its deliveries', href: `/console/webhooks/${encodeURIComponent(id)}` }
  const fact = { subject, ...(queue === undefined ? {} : { queue }), act }
  if (disabled !== null) {
    // A person who disabled it knows.
    if (disabled.reason.startsWith('by ')) return []
    const cause = `The webhook ${id} to ${target} gets no more events, because it was disabled: ${oneLine(disabled.reason, 200)}. Enable it, or remove it`
    return [{ ...fact, kind: 'webhook-disabled', cause, since: Date.parse(disabled.at) }]
  }
  const { bad = 0, dead = 0, error = '', good = 0, since = 0, trying = 0 } = outcome ?? {}
  // What failed before it was enabled again says nothing about it.
  if (bad <= Math.max(good, Date.parse(endpoint.createdAt), now - dayMs)) return []
  const parts = [
    ...(dead > 0 ? [`${countText(dead, 'delivery', 'deliveries')} failed after all attempts`] : []),
    ...(trying > 0 ? [`${countText(trying, 'delivery', 'deliveries')} failed and will be tried again`] : []),
  ]
  const cause = `The webhook ${id} does not reach ${target}: ${parts.join(', ')}. The last error: ${oneLine(error, 200)}. Mend the receiver and send them again, or remove the webhook`
  return [{ ...fact, kind: 'webhook-failing', severity: 'bad', cause, count: Math.max(1, dead + trying), since }]
}
