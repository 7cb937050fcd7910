import type { AsyncLocalStorage } from 'node:async_hooks'
import type { HookSlots } from '../hook-slots.js'
import type { Processors } from '../processors/processors.js'
import type { NodeStatus } from '../shared/contract.js'
import type { Desired, StoredWorker } from '../store/contract.js'
import type { Attempt } from './attempt.js'
import type { Claims } from './claims.js'
import type { ConsumerParts } from './consumer.js'
import type { DesiredState } from './desired-state.js'
import type { JobMiddlewares } from './job-middleware.js'
import type { RefusalParts } from './refusals.js'
import type { Turn } from './stalled-turns.js'
import type { StartLanes } from './start-lanes.js'
import type { StopLimits } from './stop-waits.js'
import type { VersionRoutes } from './version-routes.js'

export interface LocalWorkerParts extends ConsumerParts, RefusalParts {
  readonly processors: Processors
  readonly claims: Pick<Claims, 'take' | 'release'>
  /** Notes that this node runs the version that was activated last, which none had run before. */
  readonly tried: (worker: StoredWorker) => Promise<void>
  readonly stopLimits: StopLimits
  /** Shared by all workers of the node. */
  readonly startLanes: StartLanes
  /** Called when the status has changed. */
  readonly changed: () => void
  /** Id of this node. */
  readonly id: string
  readonly hooks: HookSlots
  /** Records what this node did on its own. */
  readonly decide: (decision: NodeDecision) => void
  readonly middlewares: JobMiddlewares
  readonly routes: VersionRoutes
  /** The attempt that code belongs to; undefined if that is not known. */
  readonly context: AsyncLocalStorage<Attempt> | undefined
  /** Returns the version that ran an attempt lost with another node. */
  readonly lostVersion: (worker: WorkerKey & { readonly version: string | undefined }) => Promise<string | undefined>
}

/**
 * What a node did on its own: the watchdog `restarted` a worker that took no jobs, or saw that it `recovered`; a worker `failed` to start; a
 * version could not run, so that the node `kept` the previous one.
 */
export interface NodeDecision {
  readonly worker: string
  readonly verdict: 'restarted' | 'recovered' | 'failed' | 'kept'
  /** May have several lines. */
  readonly reason: string
  readonly inputs: Readonly<Record<string, string | number>>
}

/** Identifies a worker: a later one with the same name has another id. */
export interface WorkerKey {
  readonly name: string
  readonly id: string
}

/** The present state of a worker on this node; `status` is undefined before the first step. */
export interface LocalView {
  readonly status: NodeStatus | undefined
  readonly version: string | undefined
  /** Number of running jobs. */
  readonly busy: number
  /** Whether the worker still waits since boot for a start or restart. */
  readonly suspended: (desired: Desired) => boolean
}

export interface Decision {
  readonly desired: DesiredState
  /** Whether the placement chose this node. */
  readonly assigned: boolean
  /** This node's turn to check for stalled jobs of the worker; undefined if it takes no turns. */
  readonly stalledTurn: Turn | undefined
  /** Whether the worker runs on one node at a time, so that this node must hold its claim. */
  readonly alone: boolean
  /** Whether the worker takes no new jobs here and finishes the running ones, because this node drains. */
  readonly drains: boolean
}

/** Decides what this node should do for a worker. */
export type Decide = (view: LocalView) => Promise<Decision>
