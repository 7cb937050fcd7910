import type { Context } from 'koa'
import { DeadlineError, WaitBudget, ZinError } from 'zin'

/** How long one request waits, in all, for the stores that say who it comes from, in ms. */
const MAX_WAIT_MS = 5_000

/** The waiting time of a request, shared by all plugins that take part in its authentication. */
export function authBudget(ctx: Context): WaitBudget {
  ctx.state.authBudget ??= new WaitBudget(MAX_WAIT_MS, `the stores of authentication did not answer within ${MAX_WAIT_MS} ms`)
  return ctx.state.authBudget as WaitBudget
}

/** Runs a task within {@link authBudget}; when that ends, it throws AUTH_STORE_UNAVAILABLE (503), and what the task still does counts no more. */
export async function withinAuthBudget<T>(ctx: Context, task: () => T | Promise<T>): Promise<T> {
  try {
    return await authBudget(ctx).run(task)
  } catch (error) {
    throw error instanceof DeadlineError ? storeUnavailable(error) : error
  }
}

/** A store of authentication does not answer: neither yes nor no may be said. */
export function storeUnavailable(cause: unknown): ZinError {
  return new ZinError('AUTH_STORE_UNAVAILABLE', 'Authentication is not possible right now; try again in a few seconds', {
    status: 503,
    headers: { 'Retry-After': '2' },
    cause,
  })
}
