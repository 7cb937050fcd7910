import { type ActionActor, type ActionEnd, type Clock, type Denial, deny, type ManagementAction, requestContext, ZinError } from 'zin'
import type { Ops } from 'zin/plugins/ops'
import type { MonitorAction } from 'zin/plugins/queue-monitor'
import type { PayloadView } from 'zin/plugins/queues'
import type { AttemptEnd, WorkerChange } from 'zin/plugins/workers'
import { complianceErrors } from '../errors.js'
import { addedJobs } from './added.js'
import { digestOf } from './digest.js'
import type { AuditFacts } from './entry.js'
import type { Origins } from './origin.js'
import type { AuditWriter } from './writer.js'

export interface RecorderParts {
  readonly writer: Pick<AuditWriter, 'write' | 'put'>
  readonly ops: Pick<Ops, 'actor'>
  readonly origins: Pick<Origins, 'current'>
  readonly digestKey: Buffer
  readonly clock: Clock
  /** Whether the calling code holds the only connection of the database, so that an entry would wait for its own caller. */
  readonly inTransaction: () => boolean
  /** Whether the job outcomes of a worker are recorded. */
  readonly records: (worker: string) => boolean
}

/** Maximum number of worker changes in progress. */
const mostAsked = 10_000

type Given = Partial<AuditFacts> & Pick<AuditFacts, 'action' | 'target' | 'outcome'>

/**
 * Converts hook events to audit entries. Actions are stored before they run, and refused if that fails; their results and job outcomes are
 * written in batches.
 */
export class Recorder {
  readonly #parts: RecorderParts
  /** `asked` entries by action in progress. */
  readonly #asked = new WeakMap<object, { readonly id: number; readonly actor: ActionActor }>()
  /** `asked` entries of worker changes, by the id of the change. */
  readonly #askedChanges = new Map<number, number>()

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  readonly beforeAction = async (action: ManagementAction): Promise<Denial | undefined> => {
    const actor = action.actor ?? this.#actor(action.plugin)
    const { after, before, reason } = action
    const facts = this.#facts(
      { action: action.action, target: action.target, outcome: 'asked', ...this.#digests(before, after), reason: reason ?? null },
      actor,
    )
    return this.#store(facts, (id) => void this.#asked.set(action, { id, actor }))
  }

  readonly afterAction = (action: ManagementAction, end: ActionEnd): void => {
    const asked = this.#asked.get(action)
    // The action was refused before it reached this plugin, or because its entry could not be written.
    if (asked === undefined) return
    const actor = end.actor ?? asked.actor
    const { after = action.after, before = action.before } = end
    const reason = end.outcome === 'failed' ? codeOf(end.error) : (end.reason ?? action.reason ?? null)
    const target = end.target ?? action.target
    const given = { action: action.action, target, outcome: end.outcome, ...this.#digests(before, after), reason }
    this.#parts.writer.put(this.#facts({ ...given, ref: asked.id }, actor))
  }

  /** If the hook fires again because the worker was changed concurrently, the new entry refers to the first one. */
  readonly beforeWorkerChange = (change: WorkerChange): Promise<Denial | undefined> =>
    this.#store({ ...this.#changeFacts(change, 'asked'), ref: this.#askedChanges.get(change.id) ?? null }, (id) => {
      if (this.#askedChanges.has(change.id)) return
      // Only changes whose outcome was never reported can become that old.
      if (this.#askedChanges.size >= mostAsked) this.#askedChanges.delete(this.#askedChanges.keys().next().value as number)
      this.#askedChanges.set(change.id, id)
    })

  readonly afterWorkerChange = (change: WorkerChange): void => {
    const facts = this.#changeFacts(change, 'done')
    const { target = facts.target, text } = addedJobs(change) ?? {}
    const reason = text === undefined ? facts.reason : [facts.reason, text].filter((part) => part !== null).join('; ')
    this.#parts.writer.put({ ...facts, target, reason, ref: this.#askedChanges.get(change.id) ?? null })
    this.#askedChanges.delete(change.id)
  }

  readonly workerChangeFailed = (change: WorkerChange, error: Error): void => {
    const ref = this.#askedChanges.get(change.id)
    if (ref === undefined) return
    this.#askedChanges.delete(change.id)
    this.#parts.writer.put({ ...this.#changeFacts(change, 'failed'), ref, reason: codeOf(error) })
  }

  readonly beforePayloadView = ({ actor, jobId, queue, what }: PayloadView): Promise<Denial | undefined> =>
    this.#store(this.#facts({ action: `${what}.view`, target: viewed(queue, jobId), outcome: 'asked' }, actor))

  readonly payloadViewRefused = ({ actor, jobId, queue, what }: PayloadView, reason: string): void =>
    this.#parts.writer.put(this.#facts({ action: `${what}.view`, target: viewed(queue, jobId), outcome: 'refused', reason }, actor))

  /** Records how many jobs a bulk operation changed; its start is a separate entry. */
  readonly afterMonitorAction = ({ action, actor, jobId, jobs, queue }: MonitorAction): void => {
    if (jobId !== undefined || action === 'pause' || action === 'resume') return
    this.#parts.writer.put(
      this.#facts({ action: `jobs.${action}`, target: `queue:${queue}`, outcome: 'ended', reason: `${jobs} jobs` }, actor),
    )
  }

  /** Records the final outcome of a job, with the error class but without the message, which may repeat the payload. */
  readonly attemptEnded = ({ attempt, error, final, job, outcome, version, worker }: AttemptEnd): void => {
    if (!final || !this.#parts.records(worker)) return
    const why = error === undefined ? '' : `, ${codeOf(error)}`
    // Names every field in order: on this hot path, a spread would dominate the cost.
    this.#parts.writer.put({
      at: this.#parts.clock.now(),
      action: 'job.end',
      target: `job:${job.queue}/${job.id}`,
      outcome,
      actor: `worker:${worker}`,
      device: null,
      via: 'plugin',
      before: null,
      after: null,
      reason: `version ${version ?? 'unknown'}, attempt ${attempt}${why}`,
      address: null,
      requestId: null,
      ref: null,
    })
  }

  /** Writes an entry of the plugin itself in the background. */
  note(action: string, target: string, reason: string, outcome = 'noted'): void {
    this.#parts.writer.put(this.#facts({ action, target, outcome, reason }, this.#actor('compliance')))
  }

  /** Writes an entry of the plugin itself; rejects if it cannot be stored. */
  async record(action: string, target: string, reason: string, outcome = 'noted'): Promise<void> {
    await this.#parts.writer.write(this.#facts({ action, target, outcome, reason }, this.#actor('compliance')))
  }

  async #store(facts: AuditFacts, onStored: (id: number) => void = () => undefined): Promise<Denial | undefined> {
    if (this.#parts.inTransaction()) return deny(complianceErrors.AUDIT_IN_TRANSACTION(facts.action, facts.target))
    try {
      onStored(await this.#parts.writer.write(facts))
      return undefined
    } catch (error) {
      return deny(complianceErrors.AUDIT_UNAVAILABLE(facts.action, facts.target, error as Error))
    }
  }

  #changeFacts(
    { action, actor, after, before, requestId, target, worker }: WorkerChange,
    outcome: 'asked' | 'done' | 'failed',
  ): AuditFacts {
    const name = action.includes('.') ? action : `worker.${action}`
    const of = target === undefined ? `worker:${worker}` : `worker:${worker}/${target}`
    return this.#facts(
      { action: name, target: of, outcome, ...this.#digests(before, after), ...(requestId === undefined ? {} : { requestId }) },
      actor,
    )
  }

  #facts(given: Given, actor: ActionActor): AuditFacts {
    const origin = this.#parts.origins.current()
    return {
      ...empty,
      at: this.#parts.clock.now(),
      actor: `${actor.kind}:${actor.id}`,
      device: actor.device ?? null,
      via: actor.via,
      address: origin?.address ?? null,
      requestId: requestContext()?.requestId ?? null,
      ...given,
      reason: given.reason ?? origin?.reason ?? null,
    }
  }

  #digests(before: unknown, after: unknown): Pick<AuditFacts, 'before' | 'after'> {
    const { digestKey } = this.#parts
    return { before: digestOf(digestKey, before), after: digestOf(digestKey, after) }
  }

  /** Returns the actor: an operator, a signed-in user, or, outside of requests, the plugin. */
  #actor(plugin: string): ActionActor {
    const operator = this.#parts.ops.actor()
    if (operator !== undefined) return operator
    const userId = requestContext()?.userId
    return userId === undefined ? { kind: 'plugin', id: plugin, via: 'plugin' } : { kind: 'user', id: userId, via: 'http' }
  }
}

const empty = { device: null, before: null, after: null, reason: null, address: null, requestId: null, ref: null } as const

/** The target of a view: a job, or the queue that is searched. */
function viewed(queue: string, jobId: string): string {
  return jobId === '' ? `queue:${queue}` : `job:${queue}/${jobId}`
}

/** Returns the code or class of an error. */
function codeOf(error: Error | undefined): string {
  if (error instanceof ZinError) return error.code
  const name = error?.constructor.name ?? 'Error'
  return /^\w{1,60}$/.test(name) ? name : 'Error'
}
