import { defineService } from 'zin'
import type { Actor } from 'zin/plugins/ops'

/** A value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** An automatic action that a plugin records. */
export interface NewDecision {
  /** Kind of action: `canary`, `scale`, `breaker`, `failover`, `alert`, `restart`, or a plugin's own. 2–40 of a–z, 0–9 and `-`. */
  readonly kind: string
  /** Subject of the action, as `<type>:<id>`: `worker:email-sender`, `node:<id>`, `region:us-east-1`. At most 200 characters, no spaces. */
  readonly subject: string
  /** The decision in one word: `rollback`, `promote`, `up`, `down`, `open`, `closed`, `raised`, `cleared`. 2–40 of a–z, 0–9 and `-`. */
  readonly verdict: string
  /** False in a dry run, in which nothing was changed. */
  readonly acted: boolean
  /** The reason for people: one sentence with its numbers, 1–500 characters on one line. */
  readonly reason: string
  /** Inputs of the rule: an object of at most 4 KiB as JSON. */
  readonly inputs?: Readonly<Record<string, Json>>
  /** The rule that decided, as `<plugin>/<rule>`: `canary/fast-path`, `autoscale/backlog`. At most 100 characters. */
  readonly rule: string
  /** The actor. Default: the plugin that `rule` names. */
  readonly actor?: Actor
  /** Name → path in the API, at most 10: `{ canary: '/api/workers/email-sender/canary/status' }`. */
  readonly links?: Readonly<Record<string, string>>
}

/** A decision as stored and sent. */
export interface Decision extends NewDecision {
  /** UUID version 7; ids increase within a process. */
  readonly id: string
  /** ISO 8601. */
  readonly at: string
  readonly actor: Actor
}

export interface DecisionFilter {
  readonly subject?: string
  readonly kind?: string
  /** ms since 1970, inclusive. Default: all stored decisions. */
  readonly since?: number
  /** From 1. Default 1. */
  readonly page?: number
  /** 1–100. Default 100. */
  readonly limit?: number
}

export interface DecisionPage {
  /** Newest first. */
  readonly decisions: readonly Decision[]
  readonly pagination: { readonly page: number; readonly limit: number; readonly total: number; readonly totalPages: number }
}

/**
 * What the app did automatically, and why.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { decisionsService } from 'zin/plugins/decisions'
 *
 * export const nightly = definePlugin({
 *   name: 'nightly',
 *   version: '1.0.0',
 *   uses: { decisions: decisionsService },
 *   setup({ hooks, services }) {
 *     hooks.on('onReady', () => {
 *       services.decisions.record({
 *         kind: 'nightly',
 *         subject: 'worker:email-sender',
 *         verdict: 'paused',
 *         acted: true,
 *         reason: 'Paused because the mail server is closed from 01:00 to 05:00',
 *         inputs: { from: '01:00', to: '05:00' },
 *         rule: 'nightly/closed',
 *       })
 *     })
 *   },
 * })
 */
export interface Decisions {
  /**
   * Records a decision and returns immediately; it is stored in the background. While the store is down, up to 1,000 decisions are buffered
   * in memory; the oldest are kept, and each dropped one is logged. Throws DECISION_INVALID if a field is malformed.
   */
  record(decision: NewDecision): Decision
  /** Returns decisions of all processes, including those that this process has just recorded. 400 INVALID_DECISIONS_QUERY. */
  list(filter?: DecisionFilter): Promise<DecisionPage>
  /** Calls `listener` for each new decision of any process. Returns a function that removes the listener. */
  follow(listener: (decision: Decision) => void): () => void
  /** Resolves when everything recorded so far is stored, or the store has failed; the rest is retried later. Never rejects. */
  flush(): Promise<void>
}

export const decisionsService = defineService<Decisions>('decisions')
