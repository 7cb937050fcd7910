import { type ActionActor, type SlotOf, ZinError } from 'zin'
import { queueErrors } from './errors.js'
import { withoutHiddenChildren } from './flows/contract.js'
import type { PayloadView, QueueHooks } from './hooks.js'
import { isSecret, redact } from './redact.js'

/** The caller who wants to see a payload. */
export interface Viewer {
  /** For audit logs. */
  readonly actor: ActionActor
  may(permission: 'payload:read'): boolean
  /** Whether the permission was granted explicitly, not by default. */
  granted(permission: 'payload:read'): boolean
  /** Whether the jobs of a queue are visible to the caller. */
  sees(queue: string): boolean
}

/** A job whose payload is viewed. */
export interface ViewedJob {
  readonly queue: string
  readonly id: string
}

/** The only way to show the payload, the result or the texts of a job to an operator, whichever API asks. */
export interface JobViews {
  /**
   * Checks the permission and calls the hook `beforePayloadView`, which records views. Throws 403 PAYLOAD_VIEW_FORBIDDEN, JOB_ACTION_DENIED,
   * and what a plugin denies with.
   *
   * @example
   * const { queues } = ctx.services
   * const desk = { actor: { kind: 'plugin', id: 'desk', via: 'plugin' }, may: () => true, granted: () => true, sees: () => true } as const
   * const found = await queues.job('emails', '42')
   * if (found !== undefined) {
   *   await queues.views.admit({ queue: 'emails', id: '42' }, desk, 'payload')
   *   const shown = await queues.views.redacted('emails', await queues.restoredData(found.job))
   * }
   */
  admit(job: ViewedJob, viewer: Viewer, what: PayloadView['what']): Promise<void>
  /** As `admit`, but returns false instead of throwing an error with the status 403. */
  admits(job: ViewedJob, viewer: Viewer, what: PayloadView['what']): Promise<boolean>
  /** Returns a payload or result for display: without secret fields, as changed by the hook `redactPayload`. */
  redacted(queue: string, value: unknown): Promise<unknown>
  /**
   * Returns an error or a stack for display. The error of a job whose child has failed contains the name, the id and the error of that child: if
   * it is in a queue that the viewer does not see, only that a child in another queue failed.
   */
  error(text: string, viewer: Pick<Viewer, 'sees'>): string
  /** Returns a value with its secret fields replaced by `[redacted]`. */
  withoutSecrets(value: unknown): unknown
  /** Whether a field of this name is redacted. */
  isSecret(field: string): boolean
  /** Redacts further fields, by parts of their names. Returns a function that ends it. */
  redactAlso(names: readonly string[]): () => void
  /** Whether errors, stacks and progress are stored in another form, e.g. encrypted. Then they are shown only with an admitted view. */
  readonly hidesTexts: boolean
}

export interface ViewsParts {
  /** Parts of the names of secret fields. */
  readonly names: readonly string[]
  readonly hooks: { readonly [K in 'beforePayloadView' | 'redactPayload' | 'transformJobText']: SlotOf<QueueHooks[K]> }
}

export function createViews({ hooks, names }: ViewsParts): JobViews {
  const { beforePayloadView, redactPayload, transformJobText } = hooks
  const added = new Set<readonly string[]>()
  const all = (): readonly string[] => [names, ...added].flat()
  const admit: JobViews['admit'] = async ({ id, queue }, viewer, what) => {
    if (!viewer.may('payload:read')) throw queueErrors.PAYLOAD_VIEW_FORBIDDEN()
    if (!beforePayloadView.active) return
    const view = { queue, jobId: id, actor: viewer.actor, what, granted: viewer.granted('payload:read') }
    const verdict = await beforePayloadView.call(view)
    if (verdict.denied) throw verdict.error ?? queueErrors.JOB_ACTION_DENIED(verdict.plugin, verdict.reason)
  }
  const withoutSecrets = (value: unknown): unknown => redact(value, all())
  return {
    admit,
    admits: (job, viewer, what) =>
      admit(job, viewer, what).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ZinError && error.status === 403) return false
          throw error
        },
      ),
    async redacted(queue, value) {
      const plain = withoutSecrets(value)
      return redactPayload.active ? redactPayload.call(plain, queue) : plain
    },
    error: (text, viewer) => withoutHiddenChildren(text, (queue) => viewer.sees(queue)),
    withoutSecrets,
    isSecret: (field) => isSecret(field, all()),
    redactAlso(further) {
      // A list of its own, so that two plugins can add and remove equal names.
      const list = [...further]
      added.add(list)
      return () => void added.delete(list)
    },
    get hidesTexts() {
      return transformJobText.active
    },
  }
}
