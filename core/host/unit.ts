import { messageOf } from '../errors.js'
import type { PluginContext } from './context.js'
import type { Plugin } from './plugin.js'
import { Scope } from './scope.js'
import type { StopRow } from './shutdown.js'
import { type PluginPhase, type PluginState, pluginStates } from './states.js'

export type Step = () => void | Promise<void>

/** One plugin of one host: its state, registrations and phase timings. */
export class PluginUnit {
  readonly plugin: Plugin
  readonly name: string
  /** Validated options with defaults; set once the configuration has been checked. */
  options: object = {}
  settings: object = {}
  context: PluginContext | undefined
  /** Routes, middleware and listeners: removed before `stop` runs, so that a stopping plugin receives no calls. */
  readonly traffic = new Scope()
  /** Services, hooks, timers and everything else: removed after `stop`. */
  readonly resources = new Scope()
  readonly timings: Partial<Record<PluginPhase, number>> = {}
  /** The pending step of the running phase, for messages about deadlines. */
  waitingFor = ''
  /** Whether `start` was called, so that `stop` must run. */
  started = false
  /** The pending stop, shared by all callers. */
  stopping: Promise<StopRow> | undefined
  readonly #state: ReturnType<typeof pluginStates>
  #error: Error | undefined
  #steps = emptySteps()
  #checks: (() => void)[] = []
  /** `onStopped` steps. Not cleared by `unwind`, because they run after it. */
  #last: Step[] = []
  #description: (() => string | undefined) | undefined

  constructor(plugin: Plugin) {
    this.plugin = plugin
    this.name = plugin.spec.name
    this.#state = pluginStates(this.name)
  }

  get state(): PluginState {
    return this.#state.current
  }

  /** The error, if it failed. */
  get error(): Error | undefined {
    return this.#error
  }

  /** Throws ZIN_PLUGIN_STATE if the transition is not allowed. */
  to(state: Exclude<PluginState, 'failed'>): void {
    this.#state.to(state)
    this.#error = undefined
  }

  /** Marks it as failed. */
  fail(error: Error): void {
    this.#state.to('failed')
    this.#error = error
  }

  addStep(phase: 'start' | 'ready' | 'stop', step: Step): void {
    this.#steps[phase].push(step)
  }

  addLast(step: Step): void {
    this.#last.push(step)
  }

  addDescription(text: () => string | undefined): void {
    this.#description = text
  }

  addCheck(check: () => void): void {
    this.#checks.push(check)
  }

  /** Result of `describe` while the plugin is enabled. */
  describe(): string | undefined {
    if (this.state !== 'enabled') return undefined
    try {
      return this.#description?.()
    } catch (error) {
      return `cannot be described: ${messageOf(error)}`
    }
  }

  /** Runs the checks and returns the configuration problems that prevent the plugin from starting. */
  problems(): readonly Error[] {
    return this.#checks.flatMap((check) => {
      try {
        check()
        return []
      } catch (error) {
        const thrown: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
        return thrown.map((one) => (one instanceof Error ? one : new Error(String(one))))
      }
    })
  }

  /** Runs the plugin's function for a phase and the steps registered for it; stop steps run last in, first out. */
  async run(phase: PluginPhase): Promise<void> {
    const own = this.plugin.spec[phase]
    const steps = phase === 'setup' ? [] : this.#steps[phase]
    const labelled: [string, Step][] = own === undefined ? [] : [[`${phase}()`, () => own(this.context as PluginContext)]]
    steps.forEach((step, index) => labelled.push([`${phase} step ${index + 1} of ${steps.length}`, step]))
    if (phase === 'stop') labelled.reverse()
    const failures: unknown[] = []
    for (const [label, step] of labelled) {
      this.waitingFor = label
      if (phase !== 'stop') await step()
      else
        await Promise.resolve()
          .then(step)
          .catch((error: unknown) => failures.push(error))
    }
    this.waitingFor = ''
    if (failures.length === 1) throw failures[0]
    if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('; '))
  }

  /** Whether `onStopped` steps are pending. */
  get hasLast(): boolean {
    return this.#last.length > 0
  }

  /** Runs the `onStopped` steps once, the last one added first. Throws their errors. */
  async runLast(): Promise<void> {
    const steps = this.#last.toReversed()
    this.#last = []
    const failures: unknown[] = []
    for (const step of steps) {
      await Promise.resolve()
        .then(step)
        .catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, failures.map(String).join('; '))
  }

  /** Reverts to the state before `setup`. Returns the errors of disposers. */
  unwind(): readonly Error[] {
    const failures = [...this.traffic.unwind(), ...this.resources.unwind()]
    this.#steps = emptySteps()
    this.#checks = []
    this.#description = undefined
    this.context = undefined
    this.started = false
    return failures
  }
}

function emptySteps(): Record<'start' | 'ready' | 'stop', Step[]> {
  return { start: [], ready: [], stop: [] }
}
