import { type ActionActor, type ActionEnd, type Clock, type Denial, deny, type ManagementAction, requestContext, ZinError } from 'zin'
import type { Ops } from 'zin/plugins/ops'
import type { MonitorAction, PayloadView } from 'zin/plugins/queue-monitor'
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
  /** Whether the job outcomes of a worker are recorded. */
  readonly records: (worker: string) => boolean
}

type Given = Partial<AuditFacts> & Pick<AuditFacts, 'action' | 'target' | 'outcome'>

/**
 * Turns what the hooks tell into entries. Actions are stored before they act, and refused when that fails; how they ended and outcomes of
 * jobs follow in batches.
 */
export class Recorder {
  readonly #parts: RecorderParts
  /** Entries `asked` by the action that is under way. */
  readonly #asked = new WeakMap<object, { readonly id: number; readonly actor: ActionActor }>()
  /** The same of changes of workers, by their number. */
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
    // It was refused before it was asked here, or because it cannot be written.
    if (asked === undefined) return
    const actor = end.actor ?? asked.actor
    const { after = action.after, before = action.before } = end
    const reason = end.outcome === 'failed' ? codeOf(end.error) : (end.reason ?? action.reason ?? null)
    const target = end.target ?? action.target
    const given = { action: action.action, target, outcome: end.outcome, ...this.#digests(before, after), reason }
    this.#parts.writer.put(this.#facts({ ...given, ref: asked.id }, actor))
  }

  /** Asked again, when its worker was changed meanwhile, the entry refers to the first one. */
  readonly beforeWorkerChange = (change: WorkerChange): Promise<Denial | undefined> =>
    this.#store({ ...this.#changeFacts(change, 'asked'), ref: this.#askedChanges.get(change.id) ?? null }, (id) => {
      if (!this.#askedChanges.has(change.id)) this.#askedChanges.set(change.id, id)
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
    this.#store(this.#facts({ action: `${what}.view`, target: `job:${queue}/${jobId}`, outcome: 'asked' }, actor))

  readonly payloadViewRefused = ({ actor, jobId, queue, what }: PayloadView, reason: string): void =>
    this.#parts.writer.put(this.#facts({ action: `${what}.view`, target: `job:${queue}/${jobId}`, outcome: 'refused', reason }, actor))

  /** How many jobs an operation on many has changed; that it began is an entry of its own. */
  readonly afterMonitorAction = ({ action, actor, jobId, jobs, queue }: MonitorAction): void => {
    if (jobId !== undefined || action === 'pause' || action === 'resume') return
    this.#parts.writer.put(
      this.#facts({ action: `jobs.${action}`, target: `queue:${queue}`, outcome: 'ended', reason: `${jobs} jobs` }, actor),
    )
  }

  /** The final outcome of a job, with the class of its error and without its text, which may repeat the payload. */
  readonly attemptEnded = ({ attempt, error, final, job, outcome, version, worker }: AttemptEnd): void => {
    if (!final || !this.#parts.records(worker)) return
    const why = error === undefined ? '' : `, ${codeOf(error)}`
    // Every field in its order: on this path, a spread costs more than all else.
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

  /** Stores an entry of the plugin itself in the background. */
  note(action: string, target: string, reason: string, outcome = 'noted'): void {
    this.#parts.writer.put(this.#facts({ action, target, outcome, reason }, this.#actor('compliance')))
  }

  /** Stores an entry of the plugin itself; rejects when the store does not take it. */
  async record(action: string, target: string, reason: string, outcome = 'noted'): Promise<void> {
    await this.#parts.writer.write(this.#facts({ action, target, outcome, reason }, this.#actor('compliance')))
  }

  async #store(facts: AuditFacts, onStored: (id: number) => void = () => undefined): Promise<Denial | undefined> {
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

  /** Who makes the request: an operator, a signed-in user, or, outside of requests, the plugin. */
  #actor(plugin: string): ActionActor {
    const operator = this.#parts.ops.actor()
    if (operator !== undefined) return operator
    const userId = requestContext()?.userId
    return userId === undefined ? { kind: 'plugin', id: plugin, via: 'plugin' } : { kind: 'user', id: userId, via: 'http' }
  }
}

const empty = { device: null, before: null, after: null, reason: null, address: null, requestId: null, ref: null } as const

/** The code or the class of an error. */
function codeOf(error: Error | undefined): string {
  if (error instanceof ZinError) return error.code
  const name = error?.constructor.name ?? 'Error'
  return /^\w{1,60}$/.test(name) ? name : 'Error'
}
