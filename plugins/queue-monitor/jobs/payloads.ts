import type { Job } from 'bullmq'
import type { SlotOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'
import type { PayloadView, QueueMonitorHooks } from '../hooks.js'
import { redact } from './redact.js'
import { unredact } from './unredact.js'

/** Limit on a payload in a response, in characters of JSON; longer payloads are truncated but can be downloaded. */
const shownLength = 64 * 1024

export interface PayloadsOptions {
  readonly queues: Queues
  /** Name parts of redacted fields. */
  readonly names: readonly string[]
  readonly beforePayloadView: SlotOf<QueueMonitorHooks['beforePayloadView']>
  readonly redactPayload: SlotOf<QueueMonitorHooks['redactPayload']>
}

/** A redacted payload for display. */
export interface ShownPayload {
  readonly payload: unknown
  readonly payloadBytes: number
  readonly payloadTruncated: boolean
}

/** The only access to the payload of a job. Checks the permission, calls the hook, restores and redacts, in this order. */
export class PayloadViews {
  readonly #options: PayloadsOptions

  constructor(options: PayloadsOptions) {
    this.#options = options
  }

  /** Returns the redacted payload, truncated. 403 MONITOR_FORBIDDEN, JOB_ACTION_DENIED; 500 JOB_PAYLOAD_UNREADABLE. */
  async show(job: Job, scope: Scope): Promise<ShownPayload> {
    await this.admit(job, scope, 'payload')
    const payload = await this.#redacted(job)
    const text = JSON.stringify(payload) ?? 'null'
    const payloadTruncated = text.length > shownLength
    return {
      payload: payloadTruncated ? text.slice(0, shownLength).replace(/[\uD800-\uDBFF]$/, '') : (payload ?? null),
      payloadBytes: Buffer.byteLength(text),
      payloadTruncated,
    }
  }

  /** Returns the complete redacted payload as JSON. */
  async download(job: Job, scope: Scope): Promise<string> {
    await this.admit(job, scope, 'download')
    return JSON.stringify(await this.#redacted(job)) ?? 'null'
  }

  /** Throws if the caller lacks the permission or a plugin denies access. */
  async admit(job: Job, scope: Scope, what: PayloadView['what']): Promise<void> {
    demand(scope, 'payload:read')
    const { beforePayloadView } = this.#options
    if (!beforePayloadView.active) return
    const verdict = await beforePayloadView.call({
      queue: job.queueName,
      jobId: job.id ?? '',
      actor: scope.actor,
      what,
      granted: scope.granted('payload:read'),
    })
    if (verdict.denied) throw verdict.error ?? monitorErrors.JOB_ACTION_DENIED(verdict.plugin, verdict.reason)
  }

  /** Returns edited data with the original values in place of placeholders. Throws REDACTED_VALUE_MOVED. */
  async restored(job: Job, edited: unknown): Promise<unknown> {
    const original = await this.#options.queues.restoredData(job)
    return unredact(edited, { shown: await this.#shown(original, job), original })
  }

  async #redacted(job: Job): Promise<unknown> {
    return this.#shown(await this.#options.queues.restoredData(job), job)
  }

  async #shown(data: unknown, { queueName }: Job): Promise<unknown> {
    const { names, redactPayload } = this.#options
    const redacted = redact(data, names)
    return redactPayload.active ? redactPayload.call(redacted, queueName) : redacted
  }
}
