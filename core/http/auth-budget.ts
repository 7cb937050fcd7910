import type { Context } from 'koa'
import { ZinError } from '../errors.js'
import { DeadlineError, WaitBudget } from '../util/deadline.js'
import { httpErrors } from './errors.js'

/** Total time in ms that one request may wait for authentication stores. */
const maxWaitMs = 5_000

const budget = Symbol('zin.authBudget')

/** Returns the time budget that all guards of a request share for their stores: 5 s. */
export function authBudget(ctx: Context): WaitBudget {
  const own = ctx as { [budget]?: WaitBudget }
  own[budget] ??= new WaitBudget(maxWaitMs, `the authentication stores did not respond within ${maxWaitMs} ms`)
  return own[budget]
}

/**
 * Runs a task within {@link authBudget}. When the budget is used up, it throws 503 `AUTH_STORE_UNAVAILABLE` and ignores the result of
 * the task.
 *
 * @example
 * import { defineMiddleware, refuse, storeUnavailable, withinAuthBudget } from 'zin'
 *
 * interface Sessions {
 *   has(id: string): Promise<boolean>
 * }
 *
 * export const sessionGuard = (sessions: Sessions) =>
 *   defineMiddleware({
 *     key: 'session',
 *     async handler(ctx, next) {
 *       const id = ctx.cookies.get('session') ?? ''
 *       const found = withinAuthBudget(ctx, () => sessions.has(id))
 *       const isKnown = await found.catch((error: unknown) => Promise.reject(storeUnavailable(error)))
 *       return isKnown ? next() : refuse(ctx, 'session', 'Session')
 *     },
 *   })
 */
export async function withinAuthBudget<T>(ctx: Context, task: () => T | Promise<T>): Promise<T> {
  try {
    return await authBudget(ctx).run(task)
  } catch (error) {
    throw error instanceof DeadlineError ? storeUnavailable(error) : error
  }
}

/**
 * Returns the error for a guard whose store is unavailable: 503 `AUTH_STORE_UNAVAILABLE` with `Retry-After`.
 * `cause` is for the log; if it already is this error, it is returned unchanged.
 */
export function storeUnavailable(cause: unknown): ZinError {
  return cause instanceof ZinError && cause.code === httpErrors.AUTH_STORE_UNAVAILABLE.code
    ? cause
    : httpErrors.AUTH_STORE_UNAVAILABLE(cause)
}
