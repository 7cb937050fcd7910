/**
 * A value, or the promise of one. Steps that need not wait create no promise: where requests are traced by async context, each promise
 * costs a microsecond or more, and with stores in memory none of a request's checks has to wait.
 */
export type Pending<T> = T | Promise<T>

/** Calls `use` with the value: immediately when it is available, otherwise once the promise resolves. */
export function after<T, R>(value: Pending<T>, use: (value: T) => Pending<R>): Pending<R> {
  return value instanceof Promise ? value.then(use) : use(value)
}
