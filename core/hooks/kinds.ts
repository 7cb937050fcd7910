import { ZinError } from '../errors.js'

/** All listeners are called in order and never awaited; a failure affects neither other listeners nor the emitter. */
export interface Notify<Args extends readonly unknown[]> {
  readonly kind: 'notify'
  readonly args: Args
}
/** All listeners run in parallel and are awaited; failures are returned to the emitter. */
export interface Settle<Args extends readonly unknown[]> {
  readonly kind: 'settle'
  readonly args: Args
}
/** All listeners run in parallel and return a value each; if one fails, its error takes the place of the value. */
export interface Collect<Args extends readonly unknown[], Value> {
  readonly kind: 'collect'
  readonly args: Args
  readonly value: Value
}
/** Listeners run in sequence until one returns something other than `undefined`; an error rejects the call. */
export interface First<Args extends readonly unknown[], Value> {
  readonly kind: 'first'
  readonly args: Args
  readonly value: Value
}
/** A value is passed from listener to listener; `undefined` leaves it unchanged; an error rejects the call. */
export interface Waterfall<Value, Args extends readonly unknown[]> {
  readonly kind: 'waterfall'
  readonly value: Value
  readonly args: Args
}
/** Listeners run in sequence until one returns `deny(reason)`; an error or a timeout denies. */
export interface Gate<Args extends readonly unknown[]> {
  readonly kind: 'gate'
  readonly args: Args
}

export type HookKind = 'notify' | 'settle' | 'collect' | 'first' | 'waterfall' | 'gate'

// biome-ignore lint/suspicious/noExplicitAny: any hook declaration
export type AnyHook = { readonly kind: HookKind; readonly args: any }

/** The denial returned by a gate listener. Create it with {@link deny}. */
export interface Denial {
  readonly denied: true
  readonly reason: string
  readonly status?: DenialStatus
  /** The error that the caller gets instead of the emitter's. */
  readonly error?: ZinError
}

/** 409: not allowed in this state. 403: not allowed for this caller. */
export type DenialStatus = 403 | 409

/**
 * Creates the return value with which a gate listener denies. `status` is the HTTP status for the caller; it is ignored if the emitter of
 * the hook sets one. A `ZinError` passed as the reason reaches the caller unchanged, with its code and status.
 *
 * @example
 * const onHold = new Set(['reports'])
 * hooks.on('beforeWorkerStart', (worker) => (onHold.has(worker) ? deny('on hold until the audit is over') : undefined))
 * hooks.on('beforeWorkerChange', ({ actor }) => (actor.kind === 'local' ? deny('sign in first', { status: 403 }) : undefined))
 */
export function deny(reason: string | ZinError, { status }: { readonly status?: DenialStatus } = {}): Denial {
  if (reason instanceof ZinError) return { denied: true, reason: reason.message, error: reason }
  return { denied: true, reason, ...(status === undefined ? {} : { status }) }
}

/** The decision of a gate. `plugin` owns the listener that denied; `status` and `error` are those it returned. */
export type Verdict =
  | { readonly denied: false }
  | { readonly denied: true; readonly reason: string; readonly plugin: string; readonly status?: DenialStatus; readonly error?: ZinError }

/** One failed listener of a settle hook. */
export interface ListenerFailure {
  readonly plugin: string
  readonly hook: string
  readonly error: Error
}

/** The run-time part of a hook's declaration. `zin hooks`, README tables and the bus use it. */
export interface HookSpec<H extends AnyHook = AnyHook> {
  /** `notify`, `settle`, `collect`, `first`, `waterfall` or `gate`: which listeners are awaited, and how failures are handled. */
  readonly kind: H['kind']
  /** One line: when it fires and why. */
  readonly summary: string
  /** Argument names in order, for listings. A waterfall's value comes first. */
  readonly args: readonly string[]
  /** Deadline of one listener in ms. Defaults: notify 5000, settle 10000, collect 2000, first, waterfall and gate 5000. */
  readonly timeoutMs?: number
}

/** A table that declares every hook of an interface: `export const workerHooks = {…} satisfies HookSpecs<WorkerHooks>`. */
export type HookSpecs<H> = { readonly [K in keyof H]: H[K] extends AnyHook ? HookSpec<H[K]> : never }

type ArgsOf<H extends AnyHook> = Extract<H['args'], readonly unknown[]>
type MaybePromise<T> = T | Promise<T>

/** The type of a listener for hook `H`. */
export type ListenerOf<H> =
  H extends Notify<infer A>
    ? (...args: Extract<A, readonly unknown[]>) => unknown
    : H extends Settle<infer A>
      ? (...args: Extract<A, readonly unknown[]>) => unknown
      : H extends Collect<infer A, infer V>
        ? (...args: Extract<A, readonly unknown[]>) => MaybePromise<V>
        : H extends First<infer A, infer V>
          ? (...args: Extract<A, readonly unknown[]>) => MaybePromise<V | undefined>
          : H extends Waterfall<infer V, infer A>
            ? (value: V, ...args: Extract<A, readonly unknown[]>) => MaybePromise<V | undefined | void>
            : H extends Gate<infer A>
              ? (...args: Extract<A, readonly unknown[]>) => MaybePromise<Denial | undefined | void>
              : never

/** A listener with its order and limits, for `ctx.hooks.on`. */
export interface ListenerOptions<H> {
  /** The listener itself. */
  readonly handler: ListenerOf<H>
  /** `pre` listeners run first, `post` listeners last; within each group, the plugin graph decides. */
  readonly order?: 'pre' | 'post'
  /** Overrides the hook's deadline, in ms. */
  readonly timeoutMs?: number
  /** Notify only: calls of this listener never overlap; they are queued, bounded by `maxPending`. */
  readonly sequential?: boolean
  /** Notify only: maximum number of calls in flight or queued; further calls are dropped and counted. Default 1000. */
  readonly maxPending?: number
}

interface SlotBase {
  /** False without listeners. Check it before building arguments. */
  readonly active: boolean
}
export interface NotifySlot<A extends readonly unknown[]> extends SlotBase {
  call(...args: A): void
}
export interface SettleSlot<A extends readonly unknown[]> extends SlotBase {
  call(...args: A): Promise<readonly ListenerFailure[]>
}
export interface CollectSlot<A extends readonly unknown[], V> extends SlotBase {
  /** Plugin name → its value or error. Further listeners of the same plugin are `name#2`, `name#3`, …. */
  call(...args: A): Promise<ReadonlyMap<string, V | Error>>
}
export interface FirstSlot<A extends readonly unknown[], V> extends SlotBase {
  call(...args: A): Promise<V | undefined>
}
export interface WaterfallSlot<V, A extends readonly unknown[]> extends SlotBase {
  call(value: V, ...args: A): Promise<V>
  /** Like `call`, for hot paths: returns a promise only if a listener returned one, and otherwise throws on failure. */
  pass(value: V, ...args: A): V | Promise<V>
}
export interface GateSlot<A extends readonly unknown[]> extends SlotBase {
  call(...args: A): Promise<Verdict>
}

/** The slot that emits hook `H`. Its identity never changes. */
export type SlotOf<H> =
  H extends Notify<infer A>
    ? NotifySlot<Extract<A, readonly unknown[]>>
    : H extends Settle<infer A>
      ? SettleSlot<Extract<A, readonly unknown[]>>
      : H extends Collect<infer A, infer V>
        ? CollectSlot<Extract<A, readonly unknown[]>, V>
        : H extends First<infer A, infer V>
          ? FirstSlot<Extract<A, readonly unknown[]>, V>
          : H extends Waterfall<infer V, infer A>
            ? WaterfallSlot<V, Extract<A, readonly unknown[]>>
            : H extends Gate<infer A>
              ? GateSlot<Extract<A, readonly unknown[]>>
              : never

export type { ArgsOf }
