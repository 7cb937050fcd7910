import type { HookSlots } from '../hook-slots.js'
import type { Processors } from '../processors/processors.js'
import type { NodeStatus } from '../shared/contract.js'
import type { Desired } from '../store/contract.js'
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
  readonly stopLimits: StopLimits
  /** Those of the whole node. */
  readonly startLanes: StartLanes
  /** Called when the status changed. */
  readonly changed: () => void
  /** Id of this node. */
  readonly id: string
  readonly hooks: HookSlots
  readonly middlewares: JobMiddlewares
  readonly routes: VersionRoutes
  /** The version that ran an attempt which was lost with another node. */
  readonly lostVersion: (worker: WorkerKey & { readonly version: string | undefined }) => Promise<string | undefined>
}

/** A worker: a later one of the same name has another id. */
export interface WorkerKey {
  readonly name: string
  readonly id: string
}

/** What this node does for a worker now; `status` is undefined before the first step. */
export interface LocalView {
  readonly status: NodeStatus | undefined
  readonly version: string | undefined
  /** Whether it still waits since boot for a start or restart. */
  readonly suspended: (desired: Desired) => boolean
}

export interface Decision {
  readonly desired: DesiredState
  /** Whether the placement chose this node. */
  readonly assigned: boolean
  /** This node's turn to look for stalled jobs of the worker; undefined: it has none. */
  readonly stalledTurn: Turn | undefined
}

/** What this node should do for a worker instead. */
export type Decide = (view: LocalView) => Promise<Decision>
