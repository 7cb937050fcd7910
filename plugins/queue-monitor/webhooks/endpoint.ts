import { createHash } from 'node:crypto'
import { checkEgressUrl, type EgressRules, messageOf } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { Scope } from '../access/scope.js'
import type { AlertRule } from '../alerts/rules.js'
import { type Channel, type DeliveryEvent, deliveryEvents } from '../deliveries/delivery.js'

/** Where events go. Its URL may hold a secret and is never shown whole. */
export interface Endpoint {
  readonly id: string
  readonly channel: Channel
  /** Empty for email. */
  readonly url: string
  /** Email addresses. */
  readonly recipients: readonly string[]
  readonly events: readonly DeliveryEvent[]
  readonly queues: readonly string[] | '*'
  /** Only alerts of this rule. */
  readonly rule?: AlertRule
  readonly description: string
  /** `options`: `monitor.webhooks`. `alert`: the action of an alert. `api`: added while the app ran. */
  readonly source: 'options' | 'alert' | 'api'
  /** Of those added while the app ran. */
  readonly createdBy: Actor | null
  /** Who vouches for it: who last added, changed or enabled it. Its API key can be revoked. Null: the options do. */
  readonly owner: Actor | null
}

/** What is kept of an endpoint beside its definition. */
export interface EndpointState {
  /** Since when it exists, ms since 1970: earlier events are not delivered to it. */
  readonly since: number
  readonly disabled?: { readonly at: string; readonly reason: string }
}

/** An endpoint as it is shown. */
export interface EndpointView {
  readonly id: string
  readonly channel: Channel
  /** The origin of its URL, or its recipients. */
  readonly target: string
  readonly events: readonly DeliveryEvent[]
  readonly queues: readonly string[] | '*'
  readonly rule: string | null
  readonly description: string
  readonly source: Endpoint['source']
  readonly enabled: boolean
  /** Why it is disabled: by whom, or since its receiver answered 410. */
  readonly disabled: { readonly at: string; readonly reason: string } | null
  /** ISO 8601. */
  readonly createdAt: string
  readonly createdBy: Actor | null
  /** Who last added, changed or enabled it; null: the options. */
  readonly owner: Actor | null
  /** Events of the last seven days that were not delivered, because too many waited for this endpoint. */
  readonly dropped: number
}

/** An endpoint in the options or in a request. */
export interface EndpointInput {
  readonly url: string
  readonly events?: readonly DeliveryEvent[]
  readonly queues?: readonly string[] | '*'
  readonly description?: string
}

/** `monitor.webhooks`: a list of URLs and endpoints, or the URLs of each event. */
export type WebhooksOption = readonly (string | EndpointInput)[] | Readonly<Partial<Record<DeliveryEvent, string | readonly string[]>>>

/** The endpoints of the option `monitor.webhooks`. Pure. */
export function endpointsOf(option: WebhooksOption): readonly Endpoint[] {
  if (Array.isArray(option)) {
    return (option as readonly (string | EndpointInput)[]).map((one) => configured(typeof one === 'string' ? { url: one } : one))
  }
  const byEvent = Object.entries(option as Readonly<Record<string, string | readonly string[]>>)
  return byEvent.flatMap(([event, urls]) => [urls].flat().map((url) => configured({ url, events: [event as DeliveryEvent] })))
}

function configured({ description = '', events = deliveryEvents, queues = '*', url }: EndpointInput): Endpoint {
  return {
    // The same after a restart, so that its deliveries and its state stay its own.
    id: idOf('options', url, events, queues),
    channel: 'webhook',
    url,
    recipients: [],
    events,
    queues,
    description,
    source: 'options',
    createdBy: null,
    owner: null,
  }
}

/** `wh_` and 16 characters of the digest of what makes an endpoint itself. */
export function idOf(...parts: readonly unknown[]): string {
  return `wh_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)}`
}

/** Whether an event of a queue goes to an endpoint. */
export function wants({ events, queues, rule }: Endpoint, event: DeliveryEvent, queue: string, alertRule?: AlertRule): boolean {
  if (rule !== undefined && rule !== alertRule) return false
  return events.includes(event) && (queues === '*' || queues.includes(queue))
}

/** Whether a caller sees an endpoint: it sees all queues that the endpoint tells of. */
export function seesEndpoint(scope: Scope, { queues }: Pick<Endpoint, 'queues'>): boolean {
  return queues === '*' ? scope.queues === '*' : queues.every((queue) => scope.sees(queue))
}

/** Why a URL cannot be an endpoint, or undefined. Names are resolved with each delivery, not here. */
export function urlFault(url: string, rules: EgressRules): string | undefined {
  try {
    checkEgressUrl(url, rules)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

export function viewOf(endpoint: Endpoint, { disabled, since }: EndpointState, dropped: number): EndpointView {
  const { channel, createdBy, description, events, id, owner, queues, recipients, rule, source, url } = endpoint
  return {
    id,
    channel,
    target: channel === 'email' ? recipients.join(', ') : targetOf(url),
    events,
    queues,
    rule: rule ?? null,
    description,
    source,
    enabled: disabled === undefined,
    disabled: disabled ?? null,
    createdAt: new Date(since).toISOString(),
    createdBy,
    owner,
    dropped,
  }
}

/** The origin: paths and queries of such URLs are often secret. */
export function targetOf(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return pathname === '/' && search === '' ? origin : `${origin}/…`
}
