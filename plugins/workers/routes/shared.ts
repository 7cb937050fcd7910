import type { InvalidInput, RouteContext, ZinError } from 'zin'
import type { OperationResult } from '../contract.js'
import { refusal } from '../errors.js'
import { missingField } from '../record/problem.js'

/** Refuses a caller who lacks a permission. */
export type Demand = (ctx: RouteContext, permission: string) => void | Promise<void>

export const use = ['ops']
export const tag = 'workers'
/** A record is small; whatever is larger is no record. */
export const recordLimit = 64 * 1024

/** 200 when every target has applied it, or there is nothing to stop; else 202. */
export function answerOf(ctx: RouteContext, result: OperationResult): OperationResult & { readonly ok: true } {
  ctx.status = result.operation.state === 'applied' ? 200 : 202
  return { ok: true, ...result }
}

/** Fields that a body lacks are refused as empty ones are. */
export function onMissing(problems: readonly InvalidInput[]): ZinError | undefined {
  const missing = problems.filter(({ part, keyword }) => part === 'body' && keyword === 'required')
  return refusal(missing.map(({ field }) => missingField(field)))
}
