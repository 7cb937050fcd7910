import { Type } from 'zin'
import { defaultEvents, deliveryEvents } from '../deliveries/delivery.js'
import { closed, limit, maybeNumber, queueName, text, whole } from './common.js'

const eventName = Type.Union(deliveryEvents.map((event) => Type.Literal(event)))
const events = Type.Array(eventName, {
  minItems: 1,
  maxItems: deliveryEvents.length,
  description: `Default: ${defaultEvents.join(', ')}`,
})
const endpointQueues = Type.Union([Type.Literal('*'), Type.Array(queueName, { minItems: 1, maxItems: 100 })], {
  description: 'Default: the queues covered by the credentials',
})
const description = Type.String({ maxLength: 200 })
export const endpointParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
export const endpointBody = Type.Object(
  {
    url: Type.String({ minLength: 8, maxLength: 2_000 }),
    events: Type.Optional(events),
    queues: Type.Optional(endpointQueues),
    description: Type.Optional(description),
  },
  closed,
)
export const endpointPatch = Type.Object(
  { events: Type.Optional(events), queues: Type.Optional(endpointQueues), description: Type.Optional(description) },
  closed,
)
const endpoint = Type.Object({
  id: Type.String(),
  channel: Type.String({ description: 'webhook, slack or email' }),
  target: Type.String({ description: 'The origin of the URL (never the full URL), or email addresses' }),
  events: Type.Array(Type.String()),
  queues: Type.Union([Type.Literal('*'), Type.Array(Type.String())]),
  rule: Type.Union([Type.String(), Type.Null()], { description: 'For the action of an alert: its rule' }),
  description: Type.String(),
  source: Type.String({ description: 'options, alert or api' }),
  enabled: Type.Boolean(),
  disabled: Type.Union([Type.Object({ at: Type.String(), reason: Type.String() }), Type.Null()]),
  createdAt: Type.String({ description: 'Start of deliveries; events before are not delivered, ISO 8601' }),
  createdBy: Type.Unknown(),
  owner: Type.Unknown({ description: 'Who last added, changed or enabled it; null if it is defined in the options' }),
  dropped: Type.Integer({ description: 'Events of the last 7 days dropped because the backlog was full' }),
})
export const endpointResponse = Type.Object({ ok: Type.Literal(true), webhook: endpoint })
export const endpointsResponse = Type.Object({ webhooks: Type.Array(endpoint) })
export const removedResponse = Type.Object({ ok: Type.Literal(true), id: Type.String() })
export const deliveriesQuery = Type.Object(
  {
    endpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 60 })),
    state: Type.Optional(Type.Union([Type.Literal('pending'), Type.Literal('delivered'), Type.Literal('failed')])),
    limit,
  },
  closed,
)
export const deliveryParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) })
const delivery = {
  id: Type.String({ description: 'The webhook-id' }),
  endpoint: Type.String(),
  channel: Type.String(),
  event: Type.String(),
  queue: Type.String(),
  state: Type.String({ description: 'pending, delivered or failed' }),
  createdAt: Type.String(),
  endedAt: text,
  nextAt: text,
  attempts: whole,
  maxAttempts: whole,
  error: Type.Union([Type.String(), Type.Null()]),
  tries: Type.Array(
    Type.Object({ at: Type.String(), status: maybeNumber, ms: Type.Number(), error: Type.Union([Type.String(), Type.Null()]) }),
  ),
}
export const deliveriesResponse = Type.Object({
  deliveries: Type.Array(Type.Object(delivery)),
  searched: Type.Object({ jobs: whole, of: whole, complete: Type.Boolean() }, { description: 'Coverage of the log' }),
})
export const deliveryResponse = Type.Object({ ...delivery, body: Type.String({ description: 'The body of the request' }) })
export const resentResponse = Type.Object({
  ok: Type.Literal(true),
  id: Type.String(),
  resent: Type.String({ description: 'The new webhook-id; the same id if the delivery had failed' }),
})
