import { serviceErrors } from './errors.js'
import type { ServiceRef } from './ref.js'

/** The services of one host, each provided once and resolved by id. */
export class ServiceRegistry {
  readonly #services = new Map<string, { readonly plugin: string; readonly service: unknown }>()

  /** Provides a service. Returns a function that removes it. */
  provide<T>(plugin: string, ref: ServiceRef<T>, service: T): () => void {
    const taken = this.#services.get(ref.id)
    if (taken) throw serviceErrors.ZIN_SERVICE_DUPLICATE(plugin, ref.id, taken.plugin)
    const entry = { plugin, service }
    this.#services.set(ref.id, entry)
    return () => {
      if (this.#services.get(ref.id) === entry) this.#services.delete(ref.id)
    }
  }

  find<T>(ref: { readonly id: string }): T | undefined {
    return this.#services.get(ref.id)?.service as T | undefined
  }

  get<T>(ref: ServiceRef<T>, user: string): T {
    const entry = this.#services.get(ref.id)
    if (!entry) throw serviceErrors.ZIN_SERVICE_MISSING(user, ref.id)
    return entry.service as T
  }
}
