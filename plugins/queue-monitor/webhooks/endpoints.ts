import { randomUUID } from 'node:crypto'
import type { ActionFacts, Clock, EgressRules, Manage, SlotOf } from 'zin'
import { type Cluster, defineMessage } from 'zin/plugins/cluster'
import type { Kv } from 'zin/plugins/kv'
import type { Credentials } from '../access/credentials.js'
import { demand, demandQueue, pluginScope, type QueueNames, queueNamesOf, type Scope } from '../access/scope.js'
import type { DeliveryTrouble } from '../deliveries/deliveries.js'
import { defaultEvents } from '../deliveries/delivery.js'
import { monitorErrors } from '../errors.js'
import type { QueueMonitorHooks, WebhookChange } from '../hooks.js'
import {
  type Endpoint,
  type EndpointInput,
  type EndpointState,
  type EndpointView,
  idOf,
  seesEndpoint,
  urlFault,
  viewOf,
} from './endpoint.js'
import { ownerFault } from './owner.js'

export interface EndpointsOptions {
  readonly kv: Kv
  readonly cluster: Cluster
  readonly clock: Clock
  /** Endpoints defined in the options of the plugin. */
  readonly configured: readonly Endpoint[]
  /** Whether a signing secret is configured. */
  readonly signs: boolean
  readonly rules: EgressRules
  readonly onWebhookChange: SlotOf<QueueMonitorHooks['onWebhookChange']>
  readonly manage: Manage
  /** The configured API keys. */
  readonly keys: Pick<Credentials, 'grantOf'>
  readonly onTrouble: (trouble: DeliveryTrouble) => void
}

interface Stored {
  /** Endpoints added while the app was running. */
  readonly added: readonly Endpoint[]
  readonly states: Readonly<Record<string, EndpointState>>
}

const storedKey = 'monitor:webhooks'
const droppedKeyOf = (id: string): string => `monitor:webhooks:dropped:${id}`
const weekMs = 7 * 86_400_000
/** Limit on endpoints added while the app is running. */
const mostAdded = 100
/** Limit on attempts to write when other nodes write concurrently. */
const mostWrites = 10
const none: Stored = { added: [], states: {} }

/** Broadcast to all nodes when endpoints have changed. */
const changed = defineMessage<{ readonly id: string }>('queue-monitor.webhooks')

/** The endpoints of events: those defined in the options, and those added while the app is running. */
export class Endpoints {
  readonly #options: EndpointsOptions
  #stored: Stored = none
  #ownersChecked = false

  constructor(options: EndpointsOptions) {
    this.#options = options
  }

  /** All endpoints, as last read. */
  get all(): readonly Endpoint[] {
    return [...this.#options.configured, ...this.#stored.added]
  }

  /** Finds an endpoint, as last read. */
  find(id: string): Endpoint | undefined {
    return this.all.find((endpoint) => endpoint.id === id)
  }

  /** Returns the state of an endpoint, as last read. */
  stateOf(id: string): EndpointState {
    return this.#stored.states[id] ?? { since: this.#options.clock.now() }
  }

  /** Whether owners have been checked since the start, and endpoints of revoked API keys disabled. */
  get ownersChecked(): boolean {
    return this.#ownersChecked
  }

  /** Calls the listener when endpoints may have changed on any node. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    const { cluster } = this.#options
    const stops = [cluster.on(changed, listener), cluster.onMissed(listener)]
    return () => stops.forEach((stop) => void stop())
  }

  /**
   * Reads the stored endpoints, and records when endpoints of the options were first seen. The first call after a start also disables
   * endpoints whose API key was revoked. This happens only at the start, because only a starting node is certain to have the current
   * options.
   */
  async load(): Promise<void> {
    this.#stored = parsed(await this.#options.kv.get(storedKey))
    const { clock, configured } = this.#options
    const fresh = configured.filter(({ id }) => this.#stored.states[id] === undefined)
    if (fresh.length > 0) {
      const since = clock.now()
      await this.#write((stored) => ({
        ...stored,
        states: { ...Object.fromEntries(fresh.map(({ id }) => [id, { since }])), ...stored.states },
      }))
    }
    if (this.#ownersChecked) return
    await this.#disableRevoked()
    this.#ownersChecked = true
  }

  /** Lists the endpoints the caller can see. */
  async list(scope: Scope): Promise<readonly EndpointView[]> {
    demand(scope, 'read')
    await this.load()
    const seen = this.all.filter((endpoint) => seesEndpoint(scope, endpoint))
    const dropped = await this.#options.kv.getMany(seen.map(({ id }) => droppedKeyOf(id)))
    return seen.map((endpoint, i) => viewOf(endpoint, this.stateOf(endpoint.id), Number(dropped[i] ?? 0)))
  }

  /** Adds an endpoint. `queues` defaults to the queues of the caller. 400 WEBHOOK_INVALID, 409 WEBHOOK_LIMIT. */
  async add({ description = '', events = defaultEvents, queues, url }: EndpointInput, scope: Scope): Promise<EndpointView> {
    demand(scope, 'admin')
    const { clock, rules, signs } = this.#options
    if (!signs) throw monitorErrors.WEBHOOK_INVALID('the option monitor.webhookSecret is not set, so requests cannot be signed')
    const wanted = checkedQueues(queues ?? scope.queues, scope)
    const fault = urlFault(url, rules)
    if (fault !== undefined) throw monitorErrors.WEBHOOK_INVALID(fault)
    const id = idOf('api', randomUUID())
    const endpoint: Endpoint = {
      id,
      channel: 'webhook',
      url,
      recipients: [],
      events: [...new Set(events)],
      queues: wanted,
      description,
      source: 'api',
      createdBy: scope.actor,
      owner: scope.actor,
    }
    return this.#manage('add', endpoint, scope, () =>
      this.#write(({ added, states }) => {
        if (added.length >= mostAdded) throw monitorErrors.WEBHOOK_LIMIT(mostAdded)
        return { added: [...added, endpoint], states: { ...states, [id]: { since: clock.now() } } }
      }),
    )
  }

  /** Changes the events, queues or description of an endpoint that was added while the app was running. */
  async update(id: string, { description, events, queues }: Omit<Partial<EndpointInput>, 'url'>, scope: Scope): Promise<EndpointView> {
    const known = await this.#owned(id, scope)
    const endpoint: Endpoint = {
      ...known,
      ...(description === undefined ? {} : { description }),
      ...(events === undefined ? {} : { events: [...new Set(events)] }),
      ...(queues === undefined ? {} : { queues: checkedQueues(queues, scope) }),
      owner: scope.actor,
    }
    return this.#manage('update', endpoint, scope, () => this.#write((stored) => withEndpoint(stored, endpoint)))
  }

  async remove(id: string, scope: Scope): Promise<{ readonly ok: true; readonly id: string }> {
    const endpoint = await this.#owned(id, scope)
    await this.#manage('remove', endpoint, scope, () =>
      this.#write(({ added, states: { [id]: _, ...states } }) => ({ added: added.filter((one) => one.id !== id), states })),
    )
    return { ok: true, id }
  }

  /** Enables or disables any endpoint. Events that occur while it is disabled are not delivered later. */
  async setEnabled(id: string, enabled: boolean, scope: Scope): Promise<EndpointView> {
    demand(scope, 'admin')
    const known = await this.get(id, scope)
    const { actor } = scope
    if (!enabled) return this.#manage('disable', known, scope, () => this.#setState(id, `by ${actor.kind} ${actor.id}`))
    const endpoint: Endpoint = known.source === 'api' ? { ...known, owner: actor } : known
    return this.#manage('enable', endpoint, scope, async () => {
      await this.#write((stored) => withEndpoint(stored, endpoint))
      await this.#setState(id, undefined)
    })
  }

  /** Disables an endpoint whose receiver wants no more events. */
  async disable(id: string, reason: string): Promise<void> {
    await this.#setState(id, reason)
    await this.#options.cluster.send(changed, { id })
  }

  /** Returns an endpoint. 404 WEBHOOK_NOT_FOUND, also if it covers queues the caller cannot see. */
  async get(id: string, scope: Scope): Promise<Endpoint> {
    await this.load()
    const found = this.find(id)
    if (found === undefined || !seesEndpoint(scope, found)) throw monitorErrors.WEBHOOK_NOT_FOUND(id)
    return found
  }

  /** Counts dropped events. */
  async drop(id: string, by: number): Promise<void> {
    await this.#options.kv.increment(droppedKeyOf(id), { by, ttlMs: weekMs })
  }

  async #owned(id: string, scope: Scope): Promise<Endpoint> {
    demand(scope, 'admin')
    const endpoint = await this.get(id, scope)
    if (endpoint.source !== 'api') throw monitorErrors.WEBHOOK_IN_OPTIONS(id)
    return endpoint
  }

  async #disableRevoked(): Promise<void> {
    const { keys, onTrouble } = this.#options
    for (const endpoint of this.#stored.added) {
      const reason = ownerFault(endpoint, keys)
      if (reason === undefined || this.stateOf(endpoint.id).disabled !== undefined) continue
      await this.#manage('disable', endpoint, pluginScope('queue-monitor'), () => this.#setState(endpoint.id, reason), reason)
      onTrouble({ endpoint, verdict: 'disabled', reason })
    }
  }

  async #setState(id: string, reason: string | undefined): Promise<void> {
    const now = this.#options.clock.now()
    await this.#write(({ added, states }) => {
      const since = states[id]?.since ?? now
      const state = reason === undefined ? { since: now } : { since, disabled: { at: new Date(now).toISOString(), reason } }
      return { added, states: { ...states, [id]: state } }
    })
  }

  /** Makes a change as a management action, then notifies the other nodes and the hook. */
  async #manage(
    action: WebhookChange['action'],
    endpoint: Endpoint,
    { actor }: Scope,
    work: () => Promise<void>,
    reason?: string,
  ): Promise<EndpointView> {
    const { cluster, manage, onWebhookChange } = this.#options
    const { description, events, id, queues, url } = endpoint
    const facts: ActionFacts = { actor, after: { description, events, queues, url }, ...(reason === undefined ? {} : { reason }) }
    await manage({ action: `webhook.${action}`, target: `webhook:${id}`, ...facts }, work)
    const view = viewOf(endpoint, this.stateOf(id), 0)
    await cluster.send(changed, { id })
    if (onWebhookChange.active) await onWebhookChange.call({ action, endpoint: view.id, target: view.target, actor })
    return view
  }

  /** Applies a change atomically (compare-and-set). */
  async #write(change: (stored: Stored) => Stored): Promise<void> {
    const { kv } = this.#options
    for (let left = mostWrites; left > 0; left--) {
      const before = await kv.get(storedKey)
      const after = change(parsed(before))
      const condition = before === null ? { ifAbsent: true } : { ifValue: before }
      if (await kv.set(storedKey, JSON.stringify(after), condition)) {
        this.#stored = after
        return
      }
    }
    throw monitorErrors.WEBHOOK_CONFLICT()
  }
}

function withEndpoint(stored: Stored, endpoint: Endpoint): Stored {
  return { ...stored, added: stored.added.map((one) => (one.id === endpoint.id ? endpoint : one)) }
}

/** Checks that the caller covers the queues. 403 MONITOR_FORBIDDEN, 404 QUEUE_NOT_FOUND. */
function checkedQueues(names: QueueNames, scope: Scope): QueueNames {
  const queues = queueNamesOf(names)
  if (queues === '*') {
    if (scope.queues !== '*') throw monitorErrors.MONITOR_FORBIDDEN('Your credentials do not cover all queues; list the queues they cover')
    return '*'
  }
  for (const queue of queues) demandQueue(scope, queue)
  return [...new Set(queues)]
}

function parsed(text: string | null): Stored {
  if (text === null) return none
  const stored = JSON.parse(text) as Stored
  // Endpoints stored before owners existed belong to whoever added them.
  return { ...stored, added: stored.added.map((one) => ({ ...one, owner: one.owner ?? one.createdBy })) }
}
