import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type ContextManager, context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api'
import { heldByRequest, holdInRequest, UnrecordedTrace } from './unrecorded.js'

/** A context, or a trace whose context nobody has asked for yet. */
export type Held = Context | UnrecordedTrace

/**
 * Carries the current span along asynchronous calls. It keeps nothing open. Where no code has set a context, the one of a request that is
 * not recorded is active: it goes along with the request, and so costs no context of its own.
 */
class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Held>()

  /** Whether `@opentelemetry/api` asks this one, and not that of another SDK in the process. */
  isGlobal(): boolean {
    const key = createContextKey('zin.isGlobal')
    return context.with(ROOT_CONTEXT.setValue(key, true), () => this.active().getValue(key) === true)
  }

  active(): Context {
    return contextOf(this.held)
  }

  /** What is active, without making its context. */
  get held(): Held {
    return this.#storage.getStore() ?? heldByRequest() ?? ROOT_CONTEXT
  }

  /** Runs work that is no request, or only a part of one, within a context. */
  within<T>(held: Held, work: () => T): T {
    return this.#storage.run(held, work)
  }

  /** Runs the rest of a request within its trace. */
  withUnrecorded<T>(own: UnrecordedTrace, next: () => T): T {
    return this.#storage.getStore() === undefined && holdInRequest(own) ? next() : this.#storage.run(own, next)
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    fn: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(context, () => fn.call(thisArg, ...args))
  }

  bind<T>(context: Context, target: T): T {
    if (typeof target !== 'function') return target
    const call = (...args: unknown[]): unknown => this.with(context, target as (...given: unknown[]) => unknown, undefined, ...args)
    return call as T
  }

  enable(): this {
    return this
  }

  disable(): this {
    return this
  }
}

export const contextOf = (held: Held): Context => (held instanceof UnrecordedTrace ? held.context : held)

/** One serves every app of the process, as `@opentelemetry/api` has one of them. */
export const contextManager = new AsyncContextManager()
