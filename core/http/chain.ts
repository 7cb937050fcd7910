import type { Context, Middleware, Next } from 'koa'
import { isThenable } from '../util/thenable.js'

/** What a step waits for: a promise, or something that calls back without one. */
export interface Waiting {
  then(done: () => void, fail: (reason: unknown) => void): unknown
}

export type MaybePromise = void | Waiting

/** One step of a request. It returns something only if there is something to await. */
export type Step = (ctx: Context) => MaybePromise

/** Chains middleware in front of `last`. Returns `last` itself if there is none. */
export function chain(middleware: readonly Middleware[], last: Step): Step {
  if (middleware.length === 0) return last
  return (ctx) => {
    let reached = -1
    const run = (index: number): MaybePromise => {
      if (index <= reached) throw new Error('next() was called more than once in one middleware')
      reached = index
      const step = middleware[index]
      if (!step) return last(ctx)
      const result: unknown = step(ctx as Parameters<Middleware>[0], next(index + 1))
      // A middleware that returns the result of next() has nothing to await if the rest ran synchronously.
      return result === settled || !isThenable(result) ? undefined : Promise.resolve(result as PromiseLike<void>)
    }
    // Koa's contract: next() always returns a promise, and errors reject it.
    const next =
      (index: number): Next =>
      () => {
        try {
          const rest = run(index)
          return rest === undefined ? settled : rest instanceof Promise ? rest : Promise.resolve(rest as PromiseLike<void>)
        } catch (error) {
          return Promise.reject(error)
        }
      }
    return run(0)
  }
}

const settled = Promise.resolve()
