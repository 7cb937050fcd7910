import type { Context, Middleware, Next } from 'koa'
import { ZinError } from '../errors.js'
import type { Disposer } from '../host/context.js'

interface Keyed {
  readonly plugin: string
  readonly middleware: Middleware
}

/** Middleware by the key that routes name in `use`, and middleware that runs for every request. */
export class MiddlewareRegistry {
  readonly #keyed = new Map<string, Keyed>()
  readonly #globals = new Set<Keyed>()

  get keys(): readonly string[] {
    return [...this.#keyed.keys()]
  }

  ownerOf(key: string): string | undefined {
    return this.#keyed.get(key)?.plugin
  }

  get(key: string): Middleware | undefined {
    return this.#keyed.get(key)?.middleware
  }

  add(plugin: string, key: string, middleware: Middleware): Disposer {
    const owner = this.#keyed.get(key)
    if (owner) {
      throw new ZinError(
        'ZIN_MIDDLEWARE_TAKEN',
        `Plugin "${plugin}" registers the middleware key "${key}", which belongs to plugin "${owner.plugin}"; rename one of them`,
      )
    }
    const keyed = { plugin, middleware }
    this.#keyed.set(key, keyed)
    return () => {
      if (this.#keyed.get(key) === keyed) this.#keyed.delete(key)
    }
  }

  addGlobal(plugin: string, middleware: Middleware): Disposer {
    const entry = { plugin, middleware }
    this.#globals.add(entry)
    return () => void this.#globals.delete(entry)
  }

  /** Global middleware by rank of its plugin, then in order of registration. */
  globals(rank: (plugin: string) => number): readonly Middleware[] {
    return [...this.#globals].sort((a, b) => rank(a.plugin) - rank(b.plugin)).map((entry) => entry.middleware)
  }
}

export type MaybePromise = void | Promise<void>

/** One step of a request. It returns a promise only when something has to be waited for. */
export type Step = (ctx: Context) => MaybePromise

/** Chains middleware in front of `last`. Without middleware it is `last` itself. */
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
      // A middleware that hands on what next() gave has nothing to wait for when that was done at once.
      return result === settled || !isThenable(result) ? undefined : Promise.resolve(result)
    }
    // Koa's contract: next() always gives a promise, and an error comes through it.
    const next =
      (index: number): Next =>
      () => {
        try {
          return run(index) ?? settled
        } catch (error) {
          return Promise.reject(error)
        }
      }
    return run(0)
  }
}

const settled = Promise.resolve()

function isThenable(value: unknown): value is PromiseLike<void> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
