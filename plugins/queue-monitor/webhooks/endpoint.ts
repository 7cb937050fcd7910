import { createHash } from 'node:crypto'
import { checkEgressUrl, type EgressRules, messageOf } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import { queueNamesOf, type Scope } from '../access/scope.js'
import type { AlertRule } from '../alerts/rules.js'
import { type Channel, type DeliveryEvent, defaultEvents } from '../deliveries/delivery.js'

/** A destination of events. Its URL may contain a secret and is never shown in full. */
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
  /** `options`: from `monitor.webhooks`. `alert`: the action of an alert. `api`: added while the app was running. */
  readonly source: 'options' | 'alert' | 'api'
  /** Who added it; null unless `source` is `api`. */
  readonly createdBy: Actor | null
  /**
   * Who last added, changed or enabled it; null if it is defined in the options. If the owner's API key is revoked, the endpoint is
   * disabled.
   */
  readonly owner: Actor | null
}

/** The state of an endpoint, stored apart from its definition. */
export interface EndpointState {
  /** When it was added or enabled, in ms since the Unix epoch; earlier events are not delivered to it. */
  readonly since: number
  readonly disabled?: { readonly at: string; readonly reason: string }
}

/** An endpoint for display. */
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
  /** When and why it was disabled; null if it is enabled. */
  readonly disabled: { readonly at: string; readonly reason: string } | null
  /** ISO 8601. */
  readonly createdAt: string
  readonly createdBy: Actor | null
  /** Who last added, changed or enabled it; null if it is defined in the options. */
  readonly owner: Actor | null
  /** Events of the last seven days that were dropped because the backlog of this endpoint was full. */
  readonly dropped: number
}

/** An endpoint in the options or in a request. */
export interface EndpointInput {
  readonly url: string
  readonly events?: readonly DeliveryEvent[]
  readonly queues?: readonly string[] | '*'
  readonly description?: string
}

/** The option `monitor.webhooks`: a list of URLs and endpoints, or URLs by event. */
export type WebhooksOption = readonly (string | EndpointInput)[] | Readonly<Partial<Record<DeliveryEvent, string | readonly string[]>>>

/** Returns the endpoints of the option `monitor.webhooks`. Pure. */
export function endpointsOf(option: WebhooksOption): readonly Endpoint[] {
  if (Array.isArray(option)) {
    return (option as readonly (string | EndpointInput)[]).map((one) => configured(typeof one === 'string' ? { url: one } : one))
  }
  const byEvent = Object.entries(option as Readonly<Record<string, string | readonly string[]>>)
  return byEvent.flatMap(([event, urls]) => [urls].flat().map((url) => configured({ url, events: [event as DeliveryEvent] })))
}

function configured({ description = '', events = defaultEvents, queues = '*', url }: EndpointInput): Endpoint {
  return {
    // Stable across restarts, so that the endpoint keeps its deliveries and state.
    id: idOf('options', url, events, queues),
    channel: 'webhook',
    url,
    recipients: [],
    events,
    queues: queueNamesOf(queues),
    description,
    source: 'options',
    createdBy: null,
    owner: null,
  }
}

/** Returns the id of an endpoint: `wh_` and 16 characters of the digest of its identifying parts. */
export function idOf(...parts: readonly unknown[]): string {
  return `wh_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)}`
}

/** Whether an endpoint receives an event of a queue. */
export function wants({ events, queues, rule }: Endpoint, event: DeliveryEvent, queue: string, alertRule?: AlertRule): boolean {
  if (rule !== undefined && rule !== alertRule) return false
  return events.includes(event) && (queues === '*' || queues.includes(queue))
}

/** Whether a caller can see an endpoint, which requires access to all its queues. */
export function seesEndpoint(scope: Scope, { queues }: Pick<Endpoint, 'queues'>): boolean {
  return queues === '*' ? scope.queues === '*' : queues.every((queue) => scope.sees(queue))
}

/** Returns why a URL is not allowed as an endpoint, or undefined if it is. Host names are resolved at delivery, not here. */
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

/** Returns the origin of a URL; paths and queries of webhook URLs are often secret. */
export function targetOf(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return pathname === '/' && search === '' ? origin : `${origin}/…`
}
