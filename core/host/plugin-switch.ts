import { messageOf } from '../errors.js'
import { BootError } from './boot-error.js'
import { hostErrors } from './errors.js'
import type { Lifecycle } from './lifecycle.js'
import type { HostParts } from './make-context.js'

/** Enables and disables plugins of a running host. The owner serializes the calls. */
export class PluginSwitch {
  readonly #lifecycle: Lifecycle
  readonly #parts: Pick<HostParts, 'bus' | 'http' | 'methods'>

  constructor(lifecycle: Lifecycle, parts: Pick<HostParts, 'bus' | 'http' | 'methods'>) {
    this.#lifecycle = lifecycle
    this.#parts = parts
  }

  /** Enables a plugin. Throws `ZIN_PLUGIN_ENABLE_FAILED` after rolling back. */
  async enable(name: string): Promise<void> {
    const unit = this.#lifecycle.unit(name)
    if (unit.state === 'enabled') return
    const before = this.#lifecycle.graph
    const causes = this.#lifecycle.adopt([...this.#lifecycle.enabled(), unit])
    if (causes.length > 0) {
      this.#lifecycle.adopt(this.#lifecycle.enabled())
      throw new BootError(causes)
    }
    try {
      await this.#lifecycle.setUp(unit)
      this.#parts.bus.reorder()
      this.#parts.http.compile()
      await this.#lifecycle.startUnit(unit, { checked: false })
      await this.#lifecycle.ready(unit)
    } catch (error) {
      await this.#lifecycle.stopUnit(unit)
      unit.fail(error as Error)
      this.#lifecycle.graph = before
      this.#parts.http.compile()
      throw hostErrors.ZIN_PLUGIN_ENABLE_FAILED(name, error)
    }
    unit.to('enabled')
    this.#parts.bus.slot('onPluginEnabled').call(name)
  }

  /** Disables a plugin. Throws `ZIN_PLUGIN_IN_USE`, or `ZIN_PLUGIN_STOP_FAILED` if it is disabled but did not stop cleanly. */
  async disable(name: string): Promise<void> {
    const unit = this.#lifecycle.unit(name)
    if (unit.state !== 'enabled') return
    this.#refuseWhileNeeded(name)
    unit.to('disabling')
    const failures = unit.traffic.unwind().map(messageOf)
    this.#parts.http.compile()
    const row = await this.#lifecycle.stopUnit(unit)
    this.#lifecycle.adopt(this.#lifecycle.enabled())
    this.#parts.bus.slot('onPluginDisabled').call(name)
    if (row.error !== undefined) failures.push(row.error)
    const outcome = row.error === undefined ? 'failed' : row.outcome
    if (failures.length > 0) throw hostErrors.ZIN_PLUGIN_STOP_FAILED(name, outcome, failures.join('; '))
  }

  #refuseWhileNeeded(name: string): void {
    const dependents = this.#lifecycle.graph.dependentsOf(name).filter((other) => this.#lifecycle.unit(other).state === 'enabled')
    if (dependents.length > 0)
      throw hostErrors.ZIN_PLUGIN_IN_USE(name, `other plugins depend on it: ${dependents.join(', ')}; disable them first`)
    const users = this.#parts.http.usersOfMiddleware(name)
    if (users.length > 0)
      throw hostErrors.ZIN_PLUGIN_IN_USE(name, `other plugins use its middleware: ${users.join(', ')}; disable them first`)
    const receivers = this.#parts.http.usersOfForms(name)
    if (receivers.length > 0)
      throw hostErrors.ZIN_PLUGIN_IN_USE(name, `it reads the files of routes of other plugins: ${receivers.join(', ')}; disable them first`)
    const callers = this.#parts.methods.usersOf(name)
    if (callers.length > 0)
      throw hostErrors.ZIN_PLUGIN_IN_USE(name, `other plugins use its methods: ${callers.join(', ')}; disable them first`)
  }
}
