import type { RouteContext } from 'zin'
import type { OperationResult } from '../types.js'

/** Refuses a caller who lacks a permission. */
export type Demand = (ctx: RouteContext, permission: string) => void | Promise<void>

export const use = ['ops']
export const tag = 'workers'
/** A record is small; whatever is larger is no record. */
export const recordLimit = 64 * 1024

/** 200 when every target has applied it, else 202. */
export function answerOf(ctx: RouteContext, result: OperationResult): object {
  const { targets, applied } = result.operation
  ctx.status = targets.length > 0 && applied.length === targets.length ? 200 : 202
  return { ok: true, ...result }
}
