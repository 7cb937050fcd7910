import { type Clock, type Logger, messageOf } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Decisions } from 'zin/plugins/decisions'
import type { Kv } from 'zin/plugins/kv'
import type { Queues } from 'zin/plugins/queues'
import { isMonitorKey } from '../access/credentials.js'
import type { QueueAlert } from '../alerts/alerts.js'
import type { Deliveries, DeliveryTrouble } from '../deliveries/deliveries.js'
import type { AttentionChange } from '../hooks.js'
import { type Endpoint, wants } from './endpoint.js'
import type { Endpoints } from './endpoints.js'
import { Follower, forgetCursor } from './follower.js'
import { alertBody, alertEvent, attentionBody, attentionEvent, messageId } from './job-event.js'

export interface WebhooksOptions {
  readonly cluster: Cluster
  /** Without the delivery queue, whose events are not delivered. */
  readonly queues: Queues
  readonly kv: Kv
  readonly endpoints: Endpoints
  readonly deliveries: Deliveries
  readonly clock: Clock
  readonly log: Logger
  readonly decisions: () => Decisions | undefined
  /** Limit on followed queues; each takes a connection on the leader. */
  readonly mostFollowed: number
}

/** The same problem of an endpoint is recorded once per this time, in ms. */
const quietMs = 600_000

/**
 * Delivers queue events from the leader. Without a subscribed endpoint, it neither reads events nor opens a connection.
 */
export class Webhooks {
  readonly #options: WebhooksOptions
  readonly #followers = new Map<string, Follower>()
  readonly #reported = new Map<string, number>()
  #uncovered: readonly string[] = []
  #leadership: Leadership | undefined
  #stopListening: (() => void) | undefined
  /** Serializes changes. */
  #work: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: WebhooksOptions) {
    this.#options = options
  }

  open(): void {
    const { cluster, endpoints } = this.#options
    this.#leadership = cluster.lead('queue-monitor.sampler', { onGain: () => void this.refresh(), onLoss: () => void this.refresh() })
    this.#stopListening = endpoints.onChange(() => void this.refresh())
    void this.refresh()
  }

  /** Queues with subscribed endpoints whose events are not delivered because of the limit; only on the node that delivers. */
  get uncovered(): readonly string[] {
    return this.#uncovered
  }

  /** Applies the currently stored endpoints and checks for new queues. */
  refresh(): Promise<void> {
    this.#work = this.#work.then(async () => {
      try {
        await this.#apply()
      } catch (error) {
        this.#options.log.warn({ err: error }, `webhooks could not be refreshed: ${messageOf(error)}`)
      }
    })
    return this.#work
  }

  /** Delivers an alert that was raised or cleared. */
  async alert(alert: QueueAlert): Promise<void> {
    const { deliveries, endpoints } = this.#options
    const { at, queue, rule, state } = alert
    const event = alertEvent(alert)
    const receivers = endpoints.all.filter((one) => wants(one, event, queue, rule) && endpoints.stateOf(one.id).disabled === undefined)
    if (receivers.length === 0) return
    const body = alertBody(alert)
    await deliveries.add(
      receivers.map(({ channel, id }) => ({
        id: messageId(id, queue, rule, state, at),
        endpoint: id,
        channel,
        event,
        queue,
        body,
      })),
    )
  }

  /** Delivers changes of what needs attention. Repeated with the same changes, it delivers nothing twice. */
  async attention(changes: readonly AttentionChange[]): Promise<void> {
    const { deliveries, endpoints } = this.#options
    // What is not about queues is not shown to keys that cover queues.
    const sees = ({ owner }: Endpoint, queue: string): boolean => queue !== '' || owner === null || !isMonitorKey(owner)
    const messages = changes.flatMap((change) => {
      const { queue = '' } = change.item
      const event = attentionEvent(change)
      const receivers = endpoints.all.filter(
        (one) => wants(one, event, queue) && sees(one, queue) && endpoints.stateOf(one.id).disabled === undefined,
      )
      const body = attentionBody(change)
      return receivers.map(({ channel, id }) => ({
        id: messageId(id, change.episode, change.state),
        endpoint: id,
        channel,
        event,
        queue,
        body,
      }))
    })
    if (messages.length > 0) await deliveries.add(messages)
  }

  /** Logs and records a delivery problem, at most once per endpoint, verdict and ten minutes; for alerts, always. */
  trouble({ endpoint: { id, channel, source }, reason, verdict }: DeliveryTrouble): void {
    const { clock, decisions, log } = this.#options
    const key = `${id} ${verdict}`
    const now = clock.monotonic()
    if (source !== 'alert' && now - (this.#reported.get(key) ?? Number.NEGATIVE_INFINITY) < quietMs) return
    this.#reported.set(key, now)
    log.warn({ endpoint: id, channel }, `endpoint ${id} ${verdict}: ${reason}`)
    decisions()?.record({
      kind: 'webhook',
      subject: `webhook:${id}`,
      verdict,
      acted: true,
      reason: oneLine(reason),
      rule: 'queue-monitor/delivery',
      links: { deliveries: `/api/queue/webhooks/deliveries?endpoint=${id}` },
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopListening?.()
    await this.#leadership?.resign()
    await this.refresh()
  }

  async #apply(): Promise<void> {
    const { deliveries, endpoints, mostFollowed, queues } = this.#options
    const leads = !this.#closed && this.#leadership?.leads === true
    if (!this.#closed && !endpoints.ownersChecked) await endpoints.load()
    if (!leads) {
      await Promise.all([...this.#followers.values()].map((follower) => follower.close()))
      this.#followers.clear()
      this.#uncovered = []
      return deliveries.close()
    }
    await endpoints.load()
    const { all } = endpoints
    if (all.length === 0) {
      this.#uncovered = []
      await this.#follow([])
      return deliveries.close()
    }
    await deliveries.open()
    await deliveries.trim()
    const names = all.some(({ channel }) => channel === 'webhook') ? await queues.names() : []
    const wanted = names.filter((queue) => this.#isWanted(queue))
    // Queues that are already followed take precedence over new ones.
    const byAge = [...wanted.filter((queue) => this.#followers.has(queue)), ...wanted.filter((queue) => !this.#followers.has(queue))]
    this.#leaveOut(byAge.slice(mostFollowed))
    await this.#follow(byAge.slice(0, mostFollowed))
  }

  /** Reports queues that are not followed because of the limit, if there are new ones. */
  #leaveOut(queues: readonly string[]): void {
    const { decisions, log, mostFollowed } = this.#options
    const known = new Set(this.#uncovered)
    this.#uncovered = queues
    if (queues.every((queue) => known.has(queue))) return
    const some = queues.slice(0, 10).join(', ')
    const reason = `The events of ${queues.length} queues are not delivered (${some}${queues.length > 10 ? ', …' : ''}): webhooks follow at most ${mostFollowed} queues. Increase monitor.delivery.queues, or restrict the endpoints to fewer queues`
    log.warn({ queues: queues.length }, reason)
    decisions()?.record({
      kind: 'webhook',
      subject: 'webhook:followed',
      verdict: 'left-out',
      acted: true,
      reason: oneLine(reason),
      rule: 'queue-monitor/delivery',
    })
  }

  #isWanted(queue: string): boolean {
    const { endpoints } = this.#options
    const isOn = (id: string): boolean => endpoints.stateOf(id).disabled === undefined
    return endpoints.all.some((one) => isOn(one.id) && (wants(one, 'job.completed', queue) || wants(one, 'job.failed', queue)))
  }

  async #follow(wanted: readonly string[]): Promise<void> {
    for (const [queue, follower] of this.#followers) {
      if (wanted.includes(queue)) continue
      this.#followers.delete(queue)
      await follower.close()
      // Without a subscriber, the position is not kept: later subscribers start with new events.
      await forgetCursor(this.#options.kv, queue)
    }
    for (const queue of wanted) {
      if (!this.#followers.has(queue))
        this.#followers.set(queue, new Follower({ ...this.#options, queue, onLost: (...lost) => this.#lost(...lost) }))
    }
  }

  #lost(queue: string, reason: string): void {
    const { decisions, log } = this.#options
    log.warn({ queue }, `events of queue "${queue}" were not delivered: ${reason}`)
    decisions()?.record({
      kind: 'webhook',
      subject: `queue:${queue}`,
      verdict: 'lost',
      acted: true,
      reason: `Events of the queue were dropped by its store before they were delivered: ${oneLine(reason)}`.slice(0, 500),
      rule: 'queue-monitor/delivery',
    })
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 500) || 'no reason'
}
