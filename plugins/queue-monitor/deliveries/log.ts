import type { Job } from 'bullmq'
import type { Clock, Manage, SlotOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'
import type { QueueMonitorHooks } from '../hooks.js'
import { seesEndpoint } from '../webhooks/endpoint.js'
import type { Endpoints } from '../webhooks/endpoints.js'
import { type Delivery, type DeliveryContent, type DeliveryData, type DeliveryState, type DeliveryTry, deliveryOf } from './delivery.js'
import { type DeliveryLimits, deliveryLists, deliveryQueue, jobOptions } from './delivery-queue.js'

export interface DeliveryLogOptions {
  readonly queues: Queues
  readonly endpoints: Endpoints
  readonly limits: Pick<DeliveryLimits, 'retries'>
  readonly clock: Clock
  readonly manage: Manage
  readonly onWebhookChange: SlotOf<QueueMonitorHooks['onWebhookChange']>
  /** Called for each resent delivery, with its endpoint. */
  readonly onResent: (endpoint: string) => void
}

export interface DeliveryPage {
  /** Failed deliveries first, then pending, then delivered ones. */
  readonly deliveries: readonly Delivery[]
  readonly searched: { readonly jobs: number; readonly of: number; readonly complete: boolean }
}

export interface DeliveryQuery {
  readonly endpoint?: string
  readonly state?: DeliveryState
  readonly limit: number
}

/** Limit on jobs read per request, and the number read at a time. */
const mostRead = 2_000
const readAtOnce = 100
/** Limit on the bodies read per request, in characters. */
const mostCharacters = 32 * 1024 * 1024

/** The delivery log for operators. */
export class DeliveryLog {
  readonly #options: DeliveryLogOptions

  constructor(options: DeliveryLogOptions) {
    this.#options = options
  }

  /** Lists deliveries to endpoints the caller can see: a bounded number of the newest. */
  async list({ endpoint, limit, state }: DeliveryQuery, scope: Scope): Promise<DeliveryPage> {
    demand(scope, 'read')
    const { endpoints, queues } = this.#options
    await endpoints.load()
    const states = (state === undefined ? (['failed', 'pending', 'delivered'] as const) : [state]).flatMap((one) => deliveryLists[one])
    const counts = await queues.counts(deliveryQueue)
    const of = states.reduce((sum, one) => sum + counts[one], 0)
    const found: Delivery[] = []
    let [read, characters] = [0, 0]
    for (const one of states) {
      for (
        let offset = 0;
        offset < counts[one] && read < mostRead && characters < mostCharacters && found.length < limit;
        offset += readAtOnce
      ) {
        const jobs = await queues.list(deliveryQueue, one, { offset, limit: readAtOnce })
        read += jobs.length
        for (const job of jobs) {
          const content = await this.#content(job)
          characters += content.data.body.length
          const matchesEndpoint = endpoint === undefined || content.data.endpoint === endpoint
          if (matchesEndpoint && this.#sees(scope, content.data) && found.length < limit) found.push(deliveryOf(job, content, one))
        }
        if (jobs.length < readAtOnce) break
      }
    }
    return { deliveries: found, searched: { jobs: read, of, complete: read >= of } }
  }

  /** Returns a delivery with its body. 404 DELIVERY_NOT_FOUND. */
  async get(id: string, scope: Scope): Promise<Delivery & { readonly body: string }> {
    demand(scope, 'read')
    const { content, job, state } = await this.#find(id, scope)
    return { ...deliveryOf(job, content, state), body: content.data.body }
  }

  /**
   * Resends a delivery: a failed one with the same id, a delivered one with a new id, because receivers ignore known ids.
   * 409 DELIVERY_PENDING.
   */
  async resend(id: string, scope: Scope): Promise<{ readonly ok: true; readonly id: string; readonly resent: string }> {
    demand(scope, 'admin')
    const { clock, limits, manage, onResent, onWebhookChange, queues } = this.#options
    const { content, job, state } = await this.#find(id, scope)
    const { data } = content
    if (state !== 'failed' && state !== 'completed') throw monitorErrors.DELIVERY_PENDING(id)
    const endpoint = this.#options.endpoints.find(data.endpoint)
    if (endpoint === undefined) throw monitorErrors.WEBHOOK_NOT_FOUND(data.endpoint)
    const resent = state === 'failed' ? id : `${id.slice(0, 60)}-${clock.now().toString(36)}`
    await manage({ action: 'webhook.resend', target: `delivery:${resent}`, actor: scope.actor }, async () => {
      if (state === 'failed') await job.retry('failed', { resetAttemptsMade: true })
      else await queues.add(deliveryQueue, data.event, { ...data, tries: [] } satisfies DeliveryData, jobOptions(resent, limits))
    })
    onResent(data.endpoint)
    const change = { action: 'resend' as const, endpoint: endpoint.id, delivery: resent, actor: scope.actor }
    if (onWebhookChange.active) await onWebhookChange.call(change)
    return { ok: true, id, resent }
  }

  async #find(id: string, scope: Scope): Promise<{ readonly job: Job; readonly state: string; readonly content: DeliveryContent }> {
    const { endpoints, queues } = this.#options
    await endpoints.load()
    const found = await queues.job(deliveryQueue, id)
    const content = found && (await this.#content(found.job))
    if (found === undefined || content === undefined || !this.#sees(scope, content.data)) throw monitorErrors.DELIVERY_NOT_FOUND(id)
    return { ...found, content }
  }

  async #content(job: Job): Promise<DeliveryContent> {
    const { queues } = this.#options
    const data = (await queues.restoredData(job)) as DeliveryData
    const accepted = job.returnvalue ? ((await queues.restoredResult(job)) as DeliveryTry) : undefined
    return { data, accepted }
  }

  /** Deliveries of a removed endpoint are visible only to callers that cover all queues. */
  #sees(scope: Scope, { endpoint, queue }: DeliveryData): boolean {
    return scope.sees(queue) && seesEndpoint(scope, this.#options.endpoints.find(endpoint) ?? { queues: '*' })
  }
}
