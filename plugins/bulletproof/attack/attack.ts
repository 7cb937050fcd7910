import type { Kit } from './kit.js'
import type { WireRequest } from './wire.js'

/**
 * What a correct server does with the requests of a round:
 * - `accepted`: answers each with a 2xx; the rounds after it mean nothing otherwise.
 * - `refused`: lets none through, and answers each like every other refusal.
 * - `rejected`: lets none through, whichever answer it gives; for requests that HTTP itself forbids.
 * - `once`: lets exactly one through.
 * - `unreached`: does not give what the target gives; another page is no harm.
 */
export type Expectation = 'accepted' | 'refused' | 'rejected' | 'once' | 'unreached'

/** Requests that are sent at the same time. */
export interface Round {
  /** A function makes them when the round begins. */
  readonly requests: readonly WireRequest[] | (() => readonly WireRequest[])
  readonly expect: Expectation
  /** Waits before it, in ms. */
  readonly afterMs?: number
  /** For `accepted`: why the attack is left out when the app does not take the requests. Without it that counts as unclear. */
  readonly otherwise?: string
}

export interface Attack {
  /** `family:what`, unique. */
  readonly name: string
  /** What is wrong with a server that lets it through. */
  readonly hole: string
  /** How to mend it. */
  readonly mend: string
  /** Why it cannot be tried with what is given; nothing when it can. */
  readonly unless?: (kit: Kit) => string | undefined
  /** A text says why it cannot be tried after all. */
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
