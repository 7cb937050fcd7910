import type { Context } from 'koa'
import type { ZinError } from '../errors.js'
import { DeadlineError, WaitBudget } from '../util/deadline.js'
import { httpErrors } from './errors.js'

/** How long one request waits, in all, for the stores that say who it comes from, in ms. */
const maxWaitMs = 5_000

const budget = Symbol('zin.authBudget')

/** The waiting time of a request, 5 s, shared by all that take part in its authentication. */
export function authBudget(ctx: Context): WaitBudget {
  const own = ctx as { [budget]?: WaitBudget }
  own[budget] ??= new WaitBudget(maxWaitMs, `the stores of authentication did not respond within ${maxWaitMs} ms`)
  return own[budget]
}

/**
 * Runs a task within {@link authBudget}; when that ends, it throws 503 `AUTH_STORE_UNAVAILABLE`, and what the task still does counts no
 * more.
 *
 * @example
 * const session = await withinAuthBudget(ctx, () => sessions.find(id))
 */
export async function withinAuthBudget<T>(ctx: Context, task: () => T | Promise<T>): Promise<T> {
  try {
    return await authBudget(ctx).run(task)
  } catch (error) {
    throw error instanceof DeadlineError ? storeUnavailable(error) : error
  }
}

/**
 * The error of a guard whose store cannot be asked, 503 `AUTH_STORE_UNAVAILABLE` with `Retry-After`: neither yes nor no may be said.
 * `cause` is for the log.
 */
export function storeUnavailable(cause: unknown): ZinError {
  return httpErrors.AUTH_STORE_UNAVAILABLE(cause)
}
