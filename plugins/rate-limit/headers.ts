import type { Context } from 'koa'
import type { Rule } from './rules.js'

/** What a caller has left of a limit. */
export interface Quota {
  readonly rule: Rule
  readonly remaining: number
  /** ms until the window ends. */
  readonly leftMs: number
}

const counted = Symbol('zin.rateLimit.quotas')

interface Counted {
  [counted]?: readonly Quota[]
}

export const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))

/**
 * Sets `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10) for all limits that the request was counted for, in the
 * order in which it was.
 */
export function setQuotaHeaders(ctx: Context, quota: Quota): void {
  const own = ctx as Counted
  const quotas = [...(own[counted] ?? []), quota]
  own[counted] = quotas
  ctx.set('RateLimit-Policy', quotas.map(({ rule }) => `"${rule.name}";q=${rule.limit};w=${secondsOf(rule.windowMs)}`).join(', '))
  ctx.set('RateLimit', quotas.map(({ rule, remaining, leftMs }) => `"${rule.name}";r=${remaining};t=${secondsOf(leftMs)}`).join(', '))
}
