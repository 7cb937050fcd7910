import type { CheckReport } from '../health/check.js'
import type { StatusError, WorkerState } from '../shared/contract.js'
import type { DesiredState } from './desired-state.js'

/** The state of a worker that this node has reached. */
export interface ObservedState extends DesiredState {
  readonly state: WorkerState
}

/**
 * A fact about a worker on this node besides its state, like the conditions of a Kubernetes object. There is at most one of each type;
 * the newest is last.
 */
export type Condition =
  /** The worker did not start at boot, and waits until its starts or restarts increase. */
  | { readonly type: 'suspended'; readonly reason: string; readonly starts: number; readonly restarts: number }
  /** The last start failed: the worker waits for a start, a restart or an activation, or, while `starting` or after an error that may pass, for the next retry. */
  | { readonly type: 'startFailed'; readonly error: StatusError }
  /** The health checks failed: the worker waits for a start, a restart or an activation. */
  | { readonly type: 'unhealthy'; readonly error: StatusError }
  /** The version of an activation cannot run here; the previous one runs instead. */
  | { readonly type: 'versionRefused'; readonly error: StatusError; readonly activation: string }
  /** Another step failed, such as a change of the concurrency. */
  | { readonly type: 'stepFailed'; readonly error: StatusError }
  /** Jobs wait that the worker does not take, although it could. */
  | { readonly type: 'stuck'; readonly error: StatusError }

/** A worker on this node: the input for its next steps, and for the status that other nodes see. */
export interface LocalState {
  /** Undefined before the first step. */
  readonly observed: ObservedState | undefined
  readonly conditions: readonly Condition[]
  /** The last health check since the last start. */
  readonly check: CheckReport | undefined
}

export type LocalEvent =
  /** At boot, before the first step. */
  | { readonly type: 'suspended'; readonly reason: string; readonly starts: number; readonly restarts: number }
  /** The steps to `desired` begin; `applied` follows when they have ended. */
  | { readonly type: 'starting'; readonly desired: DesiredState }
  /** `version` takes new jobs. */
  | { readonly type: 'started'; readonly version: string | undefined }
  /** `state`: `starting` if the start will be retried, `stopped` if a plugin denied it. */
  | { readonly type: 'startFailed'; readonly error: StatusError; readonly state: 'starting' | 'stopped' | 'FAILED' }
  | { readonly type: 'versionRefused'; readonly error: StatusError; readonly activation: string }
  | { readonly type: 'versionChanged' }
  | { readonly type: 'paused' }
  | { readonly type: 'resumed' }
  | { readonly type: 'stopping' }
  | { readonly type: 'stopped' }
  | { readonly type: 'unhealthy'; readonly error: StatusError }
  | { readonly type: 'stepFailed'; readonly error: StatusError }
  | { readonly type: 'stuck'; readonly error: StatusError }
  /** It takes jobs again, or none waits. */
  | { readonly type: 'unstuck' }
  | { readonly type: 'checked'; readonly report: CheckReport }
  /** The steps to `desired` have ended, successfully or not. */
  | { readonly type: 'applied'; readonly desired: DesiredState }

/** `new`: before the first step. */
type From = WorkerState | 'new'

const anyState: readonly From[] = ['new', 'stopped', 'starting', 'running', 'paused', 'stopping', 'FAILED', 'unknown']
const consuming: readonly From[] = ['running', 'paused']
/** A failed start may be retried. */
const starting: readonly From[] = ['starting', 'FAILED']

/** The states in which each event may occur. */
const allowed: Readonly<Record<LocalEvent['type'], readonly From[]>> = {
  suspended: ['new'],
  starting: ['new', 'stopped', 'starting', 'FAILED'],
  started: starting,
  startFailed: starting,
  versionRefused: [...starting, ...consuming],
  versionChanged: consuming,
  paused: consuming,
  resumed: consuming,
  stopping: ['starting', 'stopping', ...consuming],
  stopped: anyState,
  unhealthy: ['stopped'],
  stepFailed: anyState,
  stuck: ['running'],
  unstuck: anyState,
  checked: anyState,
  applied: anyState,
}

export const newLocalState: LocalState = { observed: undefined, conditions: [], check: undefined }

/** Returns the state after an event. Throws if the event cannot occur in this state. */
export function afterEvent(local: LocalState, event: LocalEvent): LocalState {
  const state = local.observed?.state ?? 'new'
  if (!allowed[event.type].includes(state)) throw new Error(`a worker that is ${state} cannot have the event "${event.type}"`)
  switch (event.type) {
    case 'suspended':
      return withCondition(local, event)
    case 'starting': {
      const started = { ...event.desired, generation: local.observed?.generation ?? 0, state: 'starting' as const }
      return { ...without(local, 'suspended', ...errorTypes), observed: started, check: undefined }
    }
    case 'started': {
      const { conditions, ...rest } = without(local, ...errorTypes)
      const left = conditions.filter((one) => one.type !== 'versionRefused' || one.error.version !== event.version)
      return inState({ ...rest, conditions: left }, local.observed?.paused === true ? 'paused' : 'running')
    }
    case 'startFailed':
      return inState(withCondition(local, { type: 'startFailed', error: event.error }), event.state)
    case 'versionRefused':
    case 'stepFailed':
    case 'stuck':
      return withCondition(local, event)
    case 'unstuck':
      return without(local, 'stuck')
    case 'versionChanged':
      return without(local, 'versionRefused', 'startFailed', 'unhealthy', 'stepFailed')
    case 'paused':
      return inState(local, 'paused')
    case 'resumed':
      return inState(local, 'running')
    case 'stopping':
      return inState(local, 'stopping')
    case 'stopped':
      return inState(without(local, ...errorTypes), 'stopped')
    case 'unhealthy':
      return inState(withCondition(local, event), 'FAILED')
    case 'checked':
      return { ...local, check: event.report }
    case 'applied': {
      const { activation } = event.desired
      const conditions = local.conditions.filter((one) => one.type !== 'versionRefused' || one.activation === activation)
      return { ...local, conditions, observed: { ...event.desired, state: local.observed?.state ?? 'stopped' } }
    }
  }
}

/** Whether the worker has been waiting since boot for a start or restart. */
export function isSuspended({ conditions }: LocalState, { starts, restarts }: Pick<DesiredState, 'starts' | 'restarts'>): boolean {
  return conditions.some((one) => one.type === 'suspended' && one.starts === starts && one.restarts === restarts)
}

/** Whether the worker starts again only on request. */
export function awaitsStart({ conditions }: LocalState): boolean {
  return conditions.some(({ type }) => type === 'startFailed' || type === 'unhealthy')
}

/** Whether the version of an activation could not run on this node. */
export function isRefused({ conditions }: LocalState, activation: string): boolean {
  return conditions.some((one) => one.type === 'versionRefused' && one.activation === activation)
}

/** Whether a version must pass its health check before it takes jobs: it replaces another one, was refused, or no node has run it. */
export function needsHealthGate(
  local: LocalState,
  { version, activation }: Pick<DesiredState, 'version' | 'activation'>,
  untried = false,
): boolean {
  const { observed } = local
  if (untried) return true
  return observed !== undefined && (observed.version !== version || isRefused(local, activation))
}

/** Whether the worker takes no jobs although jobs wait. */
export function isStuck({ conditions }: LocalState): boolean {
  return conditions.some(({ type }) => type === 'stuck')
}

/** The newest error, which other nodes see. A refused version counts only while another one runs in its place. */
export function errorOf({ observed, conditions }: LocalState): StatusError | undefined {
  const runs = observed !== undefined && [...consuming, 'stopping'].includes(observed.state)
  return conditions.flatMap((one) => (one.type === 'suspended' || (one.type === 'versionRefused' && !runs) ? [] : one.error)).at(-1)
}

/** Conditions that end when the worker starts or stops. */
const errorTypes = ['startFailed', 'unhealthy', 'stepFailed', 'stuck'] as const

function withCondition(local: LocalState, condition: Condition): LocalState {
  return { ...local, conditions: [...local.conditions.filter(({ type }) => type !== condition.type), condition] }
}

function without(local: LocalState, ...types: readonly Condition['type'][]): LocalState {
  return { ...local, conditions: local.conditions.filter(({ type }) => !types.includes(type)) }
}

function inState(local: LocalState, state: WorkerState): LocalState {
  return local.observed === undefined ? local : { ...local, observed: { ...local.observed, state } }
}
