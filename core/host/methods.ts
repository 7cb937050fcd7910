import type { Disposer } from '../util/disposer.js'
import type { PluginContext } from './context.js'
import { hostErrors } from './errors.js'

/** A method for the context of one plugin. */
// biome-ignore lint/suspicious/noExplicitAny: a method of any signature
export type ContextMethod = (...args: any[]) => unknown

/** Makes the method for the context of the plugin that calls it. */
export type MakeMethod = (user: PluginContext) => ContextMethod

/** The methods that plugins add to the contexts of others, and who has used them. */
export class ContextMethods {
  /** Owner by name of the method, as declared. */
  readonly #owners: ReadonlyMap<string, string>
  readonly #made = new Map<string, MakeMethod>()
  readonly #users = new Map<string, Set<string>>()

  /** @param declared methods by plugin. */
  constructor(declared: readonly { readonly plugin: string; readonly methods: readonly string[] }[]) {
    this.#owners = new Map(declared.flatMap(({ plugin, methods }) => methods.map((method) => [method, plugin] as const)))
  }

  /** Throws ZIN_METHOD_UNDECLARED for a method that the plugin does not list. */
  add(plugin: string, name: string, make: MakeMethod): Disposer {
    if (this.#owners.get(name) !== plugin) throw hostErrors.ZIN_METHOD_UNDECLARED(plugin, name)
    this.#made.set(name, make)
    return () => void this.#made.delete(name)
  }

  /**
   * Adds the declared methods to the context of a plugin. Throws ZIN_METHOD_TAKEN for one that is a member of every context. Returns a function
   * to call when the plugin no longer uses them.
   */
  extend(context: PluginContext): Disposer {
    const user = context.plugin.name
    for (const [name, owner] of this.#owners) {
      if (owner === user) continue
      if (Object.hasOwn(context, name)) throw hostErrors.ZIN_METHOD_TAKEN(owner, name)
      Object.defineProperty(context, name, {
        get: () => {
          const make = this.#made.get(name)
          if (make === undefined) throw hostErrors.ZIN_METHOD_MISSING(user, name, owner)
          this.#users.set(owner, (this.#users.get(owner) ?? new Set<string>()).add(user))
          return make(context)
        },
      })
    }
    return () => {
      for (const users of this.#users.values()) users.delete(user)
    }
  }

  /** Plugins that use a method of this plugin. */
  usersOf(plugin: string): readonly string[] {
    return [...(this.#users.get(plugin) ?? [])]
  }
}
