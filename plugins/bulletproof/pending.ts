/**
 * A value that is there, or the promise of one. What need not wait makes no promise: where requests are traced by async context
 * each promise costs a microsecond or more, and with stores in memory none of a request's checks has to wait.
 */
export type Pending<T> = T | Promise<T>

/** `use` of the value: now when it is there, else when it has come. */
export function after<T, R>(value: Pending<T>, use: (value: T) => Pending<R>): Pending<R> {
  return value instanceof Promise ? value.then(use) : use(value)
}
