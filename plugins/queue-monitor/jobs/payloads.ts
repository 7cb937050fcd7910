import type { Job } from 'bullmq'
import { ZinError } from 'zin'
import type { PayloadView, Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import type { JobDetails } from '../contract.js'
import { detailsOf } from './details.js'
import { unredact } from './unredact.js'

/** Limit on a payload in a response, in characters of JSON; longer payloads are truncated but can be downloaded. */
const shownLength = 64 * 1024

/** A redacted payload for display. */
export interface ShownPayload {
  readonly payload: unknown
  readonly payloadBytes: number
  readonly payloadTruncated: boolean
}

/** Shows payloads of jobs to callers of the monitor, through the views of the queues. */
export class PayloadViews {
  readonly #queues: Queues

  constructor(queues: Queues) {
    this.#queues = queues
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

  /** As `show`; undefined if the caller may not see the payload, or if it cannot be read. */
  async #showIfAllowed(job: Job, scope: Scope): Promise<ShownPayload | undefined> {
    if (!scope.may('payload:read')) return undefined
    return this.show(job, scope).catch((error: unknown) => {
      if (error instanceof ZinError) return undefined
      throw error
    })
  }

  /** Returns the complete redacted payload as JSON. */
  async download(job: Job, scope: Scope): Promise<string> {
    await this.admit(job, scope, 'download')
    return JSON.stringify(await this.#redacted(job)) ?? 'null'
  }

  /** Throws if the caller lacks the permission or a plugin denies access. */
  async admit(job: Job, scope: Scope, what: PayloadView['what']): Promise<void> {
    demand(scope, 'payload:read')
    await this.#queues.views.admit({ queue: job.queueName, id: job.id ?? '' }, scope, what)
  }

  /**
   * Returns a function that shows the jobs of one response. Errors, stacks and progress that are encrypted are views of payloads: it asks once
   * per queue whether they are shown, and only for jobs that have some.
   */
  lister(scope: Scope): (job: Job, state: string, shown?: ShownPayload) => Promise<JobDetails> {
    const asked = new Map<string, Promise<boolean>>()
    return async (job, state, shown) => {
      const details = this.#details(job, state, scope, { shown })
      if (!details.withheld || !scope.may('payload:read')) return details
      const { queueName: queue } = job
      const asking = asked.get(queue) ?? this.#queues.views.admits({ queue, id: '' }, scope, 'errors')
      asked.set(queue, asking)
      return (await asking) ? this.#details(job, state, scope, { shown, texts: true }) : details
    }
  }

  /** Returns the details of a single job, with its stacks. */
  async detailsOfOne(job: Job, state: string, scope: Scope, payload: boolean | 'allowed'): Promise<JobDetails> {
    const shown = payload === 'allowed' ? await this.#showIfAllowed(job, scope) : payload ? await this.show(job, scope) : undefined
    const plain = this.#details(job, state, scope, { shown })
    const details =
      plain.withheld && (await this.showsErrors(job, scope)) ? this.#details(job, state, scope, { shown, texts: true }) : plain
    return { ...details, stacktrace: details.withheld ? [] : (job.stacktrace ?? []).map((stack) => this.error(stack, scope)) }
  }

  /** Whether a search of one queue, or of all, looks at errors for this caller, to whom a match reveals a part of them. */
  async searchesErrors(queue: string | undefined, scope: Scope): Promise<boolean> {
    if (this.#showsTexts(scope)) return true
    return scope.may('payload:read') && (await this.#queues.views.admits({ queue: queue ?? '*', id: '' }, scope, 'search'))
  }

  /** An error or a stack without what the caller may not see of a failed child. */
  error(text: string, scope: Scope): string {
    return this.#queues.views.error(text, scope)
  }

  /** Whether the caller sees the errors of the attempts of this job. */
  async showsErrors(job: Job, scope: Scope): Promise<boolean> {
    if (this.#showsTexts(scope)) return true
    return this.#queues.views.admits({ queue: job.queueName, id: job.id ?? '' }, scope, 'logs')
  }

  /** Returns edited data with the original values in place of placeholders. Throws REDACTED_VALUE_MOVED. */
  async restored(job: Job, edited: unknown): Promise<unknown> {
    const original = await this.#queues.restoredData(job)
    return unredact(edited, { shown: await this.#queues.views.redacted(job.queueName, original), original })
  }

  #details(
    job: Job,
    state: string,
    scope: Scope,
    {
      shown,
      texts = shown !== undefined || this.#showsTexts(scope),
    }: { readonly shown?: ShownPayload | undefined; readonly texts?: boolean },
  ): JobDetails {
    const details = detailsOf(job, state, { scope, shown, texts })
    const { error, progress } = details
    return { ...details, error: error === null ? null : this.error(error, scope), progress: this.#queues.views.withoutSecrets(progress) }
  }

  /** Whether errors, stacks and progress are shown without a view of the job. Encrypted ones are not: each view of them is recorded. */
  #showsTexts(scope: Scope): boolean {
    return scope.may('payload:read') && !this.#queues.views.hidesTexts
  }

  async #redacted(job: Job): Promise<unknown> {
    return this.#queues.views.redacted(job.queueName, await this.#queues.restoredData(job))
  }
}
