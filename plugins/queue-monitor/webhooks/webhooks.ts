import { type Clock, type Logger, messageOf } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Decisions } from 'zin/plugins/decisions'
import type { Kv } from 'zin/plugins/kv'
import type { Queues } from 'zin/plugins/queues'
import type { QueueAlert } from '../alerts/alerts.js'
import type { Deliveries, DeliveryTrouble } from '../deliveries/deliveries.js'
import { wants } from './endpoint.js'
import type { Endpoints } from './endpoints.js'
import { Follower, forgetCursor } from './follower.js'
import { alertBody, messageId } from './job-event.js'

export interface WebhooksOptions {
  readonly cluster: Cluster
  /** Without the queue of the deliveries, which has no events of its own. */
  readonly queues: Queues
  readonly kv: Kv
  readonly endpoints: Endpoints
  readonly deliveries: Deliveries
  readonly clock: Clock
  readonly log: Logger
  readonly decisions: () => Decisions | undefined
}

/** Most queues whose events one app delivers: each takes a connection on the node that leads. */
const mostFollowed = 200
/** The same trouble of an endpoint is recorded once in this time, ms. */
const quietMs = 600_000

/**
 * Delivers the events of queues from the node that leads. Without an endpoint that wants them, it neither reads events nor has a
 * connection.
 */
export class Webhooks {
  readonly #options: WebhooksOptions
  readonly #followers = new Map<string, Follower>()
  readonly #told = new Map<string, number>()
  #leadership: Leadership | undefined
  #stopListening: (() => void) | undefined
  /** Changes are applied one after another. */
  #work: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: WebhooksOptions) {
    this.#options = options
  }

  open(): void {
    const { cluster, endpoints } = this.#options
    this.#leadership = cluster.lead('queue-monitor.sampler', { onGain: () => void this.refresh(), onLoss: () => void this.refresh() })
    this.#stopListening = endpoints.onChange(() => void this.refresh())
  }

  /** Applies the endpoints as they are stored now, and looks for new queues. */
  refresh(): Promise<void> {
    this.#work = this.#work.then(async () => {
      try {
        await this.#apply()
      } catch (error) {
        this.#options.log.warn({ err: error }, `webhooks could not be brought up to date: ${messageOf(error)}`)
      }
    })
    return this.#work
  }

  /** Delivers an alert that was raised or cleared. */
  async alert(alert: QueueAlert): Promise<void> {
    const { deliveries, endpoints } = this.#options
    const { at, queue, rule, state } = alert
    const receivers = endpoints.all.filter(
      (one) => wants(one, 'queue.alert', queue, rule) && endpoints.stateOf(one.id).disabled === undefined,
    )
    if (receivers.length === 0) return
    const body = alertBody(alert)
    await deliveries.add(
      receivers.map(({ channel, id }) => ({
        id: messageId(id, queue, rule, state, at),
        endpoint: id,
        channel,
        event: 'queue.alert' as const,
        queue,
        body,
      })),
    )
  }

  /** Logs and records a failure to deliver; the same one of an endpoint at most every ten minutes, except of alerts. */
  trouble({ endpoint: { id, channel, source }, reason, verdict }: DeliveryTrouble): void {
    const { clock, decisions, log } = this.#options
    const key = `${id} ${verdict}`
    const now = clock.monotonic()
    if (source !== 'alert' && now - (this.#told.get(key) ?? Number.NEGATIVE_INFINITY) < quietMs) return
    this.#told.set(key, now)
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
    const { deliveries, endpoints, log, queues } = this.#options
    const leads = !this.#closed && this.#leadership?.leads === true
    if (!leads) {
      await Promise.all([...this.#followers.values()].map((follower) => follower.close()))
      this.#followers.clear()
      return deliveries.close()
    }
    await endpoints.load()
    const { all } = endpoints
    if (all.length === 0) {
      await this.#follow([])
      return deliveries.close()
    }
    await deliveries.open()
    await deliveries.trim()
    const names = all.some(({ channel }) => channel === 'webhook') ? await queues.names() : []
    const followed = names.filter((queue) => this.#isWanted(queue))
    if (followed.length > mostFollowed) {
      log.warn(
        { queues: followed.length },
        `webhooks cover ${followed.length} queues; only the events of the first ${mostFollowed} by name are delivered`,
      )
    }
    await this.#follow(followed.slice(0, mostFollowed))
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
      // Nobody wants its events: whoever does later begins with those of then.
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
