declare const shape: unique symbol

/** A typed reference by which one plugin provides a service and others use it. */
export interface ServiceRef<T> {
  readonly id: string
  readonly optional: false
  readonly [shape]?: T
}

/** A reference to a service that may be absent: its type is `T | undefined`, and it affects only the boot order. */
export interface OptionalServiceRef<T> {
  readonly id: string
  readonly optional: true
  /** Whether it has no effect on the boot order, see {@link later}. */
  readonly later?: true
  readonly [shape]?: T
}

// biome-ignore lint/suspicious/noExplicitAny: a record of refs of any shape
export type Uses = Record<string, ServiceRef<any> | OptionalServiceRef<any>>

/** The type of `ctx.services` for the `uses` of a plugin. */
export type Resolved<U extends Uses> = {
  readonly [K in keyof U]: U[K] extends OptionalServiceRef<infer T> ? T | undefined : U[K] extends ServiceRef<infer T> ? T : never
}

/**
 * Creates a reference to a service. `id` is its name, unique in an app.
 *
 * @example
 * export interface Mailer { send(to: string, text: string): Promise<void> }
 * export const mailerService = defineService<Mailer>('mailer')
 */
export function defineService<T>(id: string): ServiceRef<T> {
  return { id, optional: false }
}

/** Marks a service as not required: `uses: { mailer: optional(mailerService) }`. */
export function optional<T>(ref: ServiceRef<T>): OptionalServiceRef<T> {
  return { id: ref.id, optional: true }
}

/**
 * Marks a service as not required and without effect on the boot order: `uses: { workers: later(workersService) }`. It is undefined before
 * its plugin provides it and after that plugin has stopped. For a plugin that boots before the plugin whose service it uses.
 */
export function later<T>(ref: ServiceRef<T>): OptionalServiceRef<T> {
  return { id: ref.id, optional: true, later: true }
}

/** Whether a reference was created by {@link later}. */
export function isLater(ref: ServiceRef<unknown> | OptionalServiceRef<unknown>): boolean {
  return ref.optional && ref.later === true
}
