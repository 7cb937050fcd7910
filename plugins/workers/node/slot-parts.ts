import { isDeepStrictEqual } from 'node:util'
import type { HookSlots } from '../hook-slots.js'
import type { Processors } from '../processors/processors.js'
import type { NodeStatus } from '../shared/contract.js'
import type { ConsumerParts } from './consumer.js'
import type { JobMiddlewares } from './job-middleware.js'
import type { Goal } from './plan.js'
import type { RefusalParts } from './refusals.js'
import type { StartLanes } from './start-lanes.js'
import type { StopLimits } from './stop-waits.js'
import type { VersionRoutes } from './version-routes.js'

export interface SlotParts extends ConsumerParts, RefusalParts {
  readonly processors: Processors
  readonly stopLimits: StopLimits
  /** Those of the whole process. */
  readonly startLanes: StartLanes
  /** Called whenever what the slot does has changed. */
  readonly changed: () => void
  /** Names this process among all of the app. */
  readonly id: string
  readonly hooks: HookSlots
  readonly middlewares: JobMiddlewares
  readonly routes: VersionRoutes
  /** The version that ran an attempt which was lost with another process. */
  readonly lostVersion: (slot: LosingSlot) => Promise<string | undefined>
}

/** What a slot does now; `status` is undefined before its first step. */
export interface SlotView {
  readonly status: NodeStatus | undefined
  readonly version: string | undefined
}

export interface Decision {
  readonly goal: Goal
  /** Whether the placement chose this process. */
  readonly placed: boolean
  /** Whether this process looks for jobs of the worker that lost theirs, for all. */
  readonly checksStalled: boolean
}

/** What it should do instead. */
export type Decide = (slot: SlotView) => Promise<Decision>

export interface LosingSlot extends SlotOwner {
  readonly version: string | undefined
}

/** Which worker a slot is for: a later one of the same name has another id. */
export interface SlotOwner {
  readonly name: string
  readonly id: string
}

/** Whether two statuses differ at most in when they were made. */
export function saysSame(a: NodeStatus | undefined, b: NodeStatus | undefined): boolean {
  return isDeepStrictEqual({ ...a, at: 0 }, { ...b, at: 0 })
}
