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
  /** Most queues whose events are delivered: each takes a connection on the node that leads. */
  readonly mostFollowed: number
}

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
  #uncovered: readonly string[] = []
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
    void this.refresh()
  }

  /** Queues whose events an endpoint wants and does not get, because there are more than can be followed; only on the node that delivers. */
  get uncovered(): readonly string[] {
    return this.#uncovered
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
    // A new queue does not take the place of one whose events are delivered.
    const byAge = [...wanted.filter((queue) => this.#followers.has(queue)), ...wanted.filter((queue) => !this.#followers.has(queue))]
    this.#leaveOut(byAge.slice(mostFollowed))
    await this.#follow(byAge.slice(0, mostFollowed))
  }

  /** Tells of queues that are left out, when others are than before. */
  #leaveOut(queues: readonly string[]): void {
    const { decisions, log, mostFollowed } = this.#options
    const known = new Set(this.#uncovered)
    this.#uncovered = queues
    if (queues.every((queue) => known.has(queue))) return
    const some = queues.slice(0, 10).join(', ')
    const reason = `The events of ${queues.length} queues are not delivered (${some}${queues.length > 10 ? ', …' : ''}): webhooks follow at most ${mostFollowed} queues. Raise monitor.delivery.queues, or limit the endpoints to queues`
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
