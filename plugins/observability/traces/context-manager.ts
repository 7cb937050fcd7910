import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type ContextManager, context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api'
import { heldByRequest, holdInRequest, UnrecordedTrace } from './unrecorded.js'

/** A context, or an unrecorded trace whose context is created on first use. */
export type Held = Context | UnrecordedTrace

/**
 * Propagates the current span through asynchronous calls, without holding resources. Where no context has been set, the context of an
 * unrecorded request is active: it is stored with the request, so it needs no separate async context.
 */
class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Held>()

  /** Whether this is the global context manager of `@opentelemetry/api`, and not that of another SDK in the process. */
  isGlobal(): boolean {
    const key = createContextKey('zin.isGlobal')
    return context.with(ROOT_CONTEXT.setValue(key, true), () => this.active().getValue(key) === true)
  }

  active(): Context {
    return contextOf(this.held)
  }

  /** The active context or trace, without creating its context. */
  get held(): Held {
    return this.#storage.getStore() ?? heldByRequest() ?? ROOT_CONTEXT
  }

  /** Runs work outside of a request, or a part of one, within a context. */
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

/** Shared by all apps of the process, because `@opentelemetry/api` has a single context manager. */
export const contextManager = new AsyncContextManager()
