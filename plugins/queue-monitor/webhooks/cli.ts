import { type Command, defineCommand } from 'zin'
import type { Delivery } from '../deliveries/delivery.js'
import type { EndpointView } from './endpoint.js'

const base = '/api/queue/webhooks'
const endpointArgument = { name: 'id', summary: 'Id of the endpoint, see webhook:list' }
const pathOf = (id: string): string => `${base}/endpoints/${encodeURIComponent(id)}`
const listOf = (text: string): readonly string[] => text.split(',').map((one) => one.trim())

const endpointColumns = ['id', 'channel', 'target', 'events', 'queues', 'enabled', 'owner', 'dropped', 'description'] as const
const deliveryColumns = ['id', 'endpoint', 'event', 'queue', 'state', 'attempts', 'createdAt', 'nextAt', 'error'] as const

const list = defineCommand({
  name: 'webhook:list',
  summary: 'List webhook endpoints',
  needs: 'running app',
  route: 'GET /api/queue/webhooks',
  json: true,
  run: async ({ app, print }) => {
    const { webhooks } = await app.request<{ webhooks: readonly EndpointView[] }>({ method: 'GET', path: base })
    const ownerOf = ({ owner }: EndpointView): string => (owner === null ? '' : `${owner.kind}:${owner.id}`)
    if (print.json) print.table(webhooks, endpointColumns)
    else
      print.table(
        webhooks.map((one) => ({ ...one, owner: ownerOf(one) })),
        endpointColumns,
      )
  },
})

const add = defineCommand({
  name: 'webhook:add',
  summary: 'Add an endpoint that receives queue events',
  args: [{ name: 'url', summary: 'URL that receives the requests' }],
  needs: 'running app',
  route: 'POST /api/queue/webhooks',
  json: true,
  options: {
    events: {
      type: 'string',
      summary:
        'Comma-separated: job.completed, job.failed, queue.alert, queue.alert.cleared (default: these), attention.raised, attention.cleared',
    },
    queues: { type: 'string', summary: 'Comma-separated names; default: all queues covered by the credentials' },
    description: { type: 'string', summary: 'Purpose of the endpoint' },
  },
  run: async ({ app, args: { url }, options: { description, events, queues }, print }) => {
    const body = {
      url,
      ...(events === undefined ? {} : { events: listOf(events) }),
      ...(queues === undefined ? {} : { queues: listOf(queues) }),
      ...(description === undefined ? {} : { description }),
    }
    const { webhook } = await app.request<{ webhook: EndpointView }>({ method: 'POST', path: base, body })
    print.record(webhook)
  },
})

const remove = defineCommand({
  name: 'webhook:remove',
  summary: 'Remove an endpoint that was added while the app was running',
  args: [endpointArgument],
  needs: 'running app',
  route: 'DELETE /api/queue/webhooks/endpoints/:id',
  json: true,
  run: async ({ app, args: { id = '' }, print }) => print.record(await app.request<object>({ method: 'DELETE', path: pathOf(id) })),
})

const switches = (['enable', 'disable'] as const).map((verb) =>
  defineCommand({
    name: `webhook:${verb}`,
    summary: verb === 'enable' ? 'Resume deliveries to an endpoint, for new events' : 'Stop deliveries to an endpoint',
    args: [endpointArgument],
    needs: 'running app',
    route: `POST /api/queue/webhooks/endpoints/:id/${verb}`,
    json: true,
    run: async ({ app, args: { id = '' }, print }) => {
      const { webhook } = await app.request<{ webhook: EndpointView }>({ method: 'POST', path: `${pathOf(id)}/${verb}` })
      print.record(webhook)
    },
  }),
)

const log = defineCommand({
  name: 'webhook:deliveries',
  summary: 'List deliveries',
  needs: 'running app',
  route: 'GET /api/queue/webhooks/deliveries',
  json: true,
  options: {
    endpoint: { type: 'string', summary: 'Only deliveries to this endpoint' },
    state: { type: 'string', values: ['pending', 'delivered', 'failed'], summary: 'Only deliveries in this state' },
    limit: { type: 'int', default: 20, min: 1, max: 100, summary: 'Number of deliveries' },
  },
  run: async ({ app, options: { endpoint, limit, state }, print }) => {
    const query = { endpoint, state, limit }
    const path = `${base}/deliveries`
    const { deliveries } = await app.request<{ deliveries: readonly Delivery[] }>({ method: 'GET', path, query })
    print.table(deliveries, deliveryColumns)
  },
})

const resend = defineCommand({
  name: 'webhook:resend',
  summary: 'Resend a failed delivery with the same id, or a delivered one with a new id',
  args: [{ name: 'id', summary: 'Id of the delivery, see webhook:deliveries' }],
  needs: 'running app',
  route: 'POST /api/queue/webhooks/deliveries/:id/resend',
  json: true,
  run: async ({ app, args: { id = '' }, print }) => {
    const path = `${base}/deliveries/${encodeURIComponent(id)}/resend`
    const resent = await app.request<{ resent: string }>({ method: 'POST', path })
    if (print.json) print.record(resent)
    else print.line(`delivery ${resent.resent} is being sent again`)
  },
})

/** Commands for webhook endpoints and deliveries. */
export const webhookCommands: readonly Command[] = [list, add, remove, ...switches, log, resend]
