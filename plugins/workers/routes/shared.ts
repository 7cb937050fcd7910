import type { InvalidInput, RouteContext, ZinError } from 'zin'
import type { JobViews, Viewer } from 'zin/plugins/queues'
import type { OperationResult } from '../contract.js'
import { refusal } from '../errors.js'
import { missingField } from '../record/problem.js'

/** Rejects a caller who lacks a permission. */
export type Demand = (ctx: RouteContext, permission: string) => void | Promise<void>

/** The permission to add, cancel and schedule jobs, as in the queue monitor, and to decide which queue a worker takes jobs from. */
export const writesQueues = 'queues:write'

/** The access of callers. */
export interface Access {
  readonly demand: Demand
  readonly viewer: (ctx: RouteContext) => Viewer
  readonly views: () => JobViews
}

export const use = ['ops']
export const tag = 'workers'
/** Maximum size of a record, in bytes. */
export const recordLimit = 64 * 1024

/** Sets the status: 200 when every target has applied the operation, or there is nothing to stop; else 202. */
export function answerOf(ctx: RouteContext, result: OperationResult): OperationResult & { readonly ok: true } {
  ctx.status = result.operation.state === 'applied' ? 200 : 202
  return { ok: true, ...result }
}

/** Rejects missing fields of a body like empty ones. */
export function onMissing(problems: readonly InvalidInput[]): ZinError | undefined {
  const missing = problems.filter(({ part, keyword }) => part === 'body' && keyword === 'required')
  return refusal(missing.map(({ field }) => missingField(field)))
}
