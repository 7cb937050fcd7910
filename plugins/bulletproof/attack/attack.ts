import type { Kit } from './kit.js'
import type { WireRequest } from './wire.js'

/**
 * The correct behavior of a server for the requests of a round:
 * - `accepted`: each gets a 2xx; otherwise the later rounds prove nothing.
 * - `refused`: none is accepted, and each gets the same response as every other refusal.
 * - `rejected`: none is accepted, with any response; for requests that HTTP itself forbids.
 * - `once`: exactly one is accepted.
 * - `unreached`: none gets the response of the target; another page is harmless.
 */
export type Expectation = 'accepted' | 'refused' | 'rejected' | 'once' | 'unreached'

/** Requests that are sent at the same time. */
export interface Round {
  /** A function is called when the round starts. */
  readonly requests: readonly WireRequest[] | (() => readonly WireRequest[])
  readonly expect: Expectation
  /** Delay before the round, in ms. */
  readonly afterMs?: number
  /** For `accepted`: why the attack is skipped when the app refuses the requests. Without it the verdict is unclear. */
  readonly otherwise?: string
}

export interface Attack {
  /** `family:what`, unique. */
  readonly name: string
  /** What is wrong with a server that accepts it. */
  readonly hole: string
  /** How to fix it. */
  readonly fix: string
  /** Why it cannot be run with the given credentials; undefined when it can. */
  readonly unless?: (kit: Kit) => string | undefined
  /** A string gives the reason why it cannot be run after all. */
  readonly rounds: (kit: Kit) => readonly Round[] | Promise<readonly Round[] | string>
}

export function refused(...requests: readonly WireRequest[]): Round {
  return { requests, expect: 'refused' }
}

export function rejected(...requests: readonly WireRequest[]): Round {
  return { requests, expect: 'rejected' }
}

export function unreached(...requests: readonly WireRequest[]): Round {
  return { requests, expect: 'unreached' }
}

export function accepted(request: WireRequest, otherwise?: string): Round {
  return { requests: [request], expect: 'accepted', ...(otherwise === undefined ? {} : { otherwise }) }
}
