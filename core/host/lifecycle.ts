import { configErrors } from '../config/errors.js'
import type { SettingsReader } from '../config/read-settings.js'
import type { SettingSpec, SettingSpecs } from '../config/settings.js'
import { OptionsValidator } from '../config/validate-options.js'
import { messageOf } from '../errors.js'
import { isLater, type ServiceRef, type Uses } from '../services/ref.js'
import { type BootCause, BootError } from './boot-error.js'
import { declarationProblems } from './declarations.js'
import { hostErrors } from './errors.js'
import { buildGraph, type GraphNode, type PluginGraph } from './graph.js'
import { type HostParts, makeContext } from './make-context.js'
import { announceSlow, type PhaseOptions, runPhase } from './phases.js'
import { endUnits, type StopRow, stopLevels, stopUnit } from './shutdown.js'
import type { PluginPhase } from './states.js'
import type { PluginUnit } from './unit.js'

export type BootPhase = Exclude<PluginPhase, 'stop'>

export interface LifecycleOptions {
  readonly units: readonly PluginUnit[]
  readonly settings: SettingsReader
  /** Ids of services that are not provided by plugins. */
  readonly external: ReadonlySet<string>
  readonly parts: HostParts
  readonly phases: PhaseOptions
  /** The app runs under `zin dev`. */
  readonly development: boolean
}

/** Runs the phases of the plugins of one host in graph order. */
export class Lifecycle {
  readonly #options: LifecycleOptions
  graph: PluginGraph = emptyGraph

  constructor(options: LifecycleOptions) {
    this.#options = options
  }

  /** Checks the options and settings of these plugins and sorts them. Throws a {@link BootError} that lists every problem. */
  adopt(units: readonly PluginUnit[]): void {
    const causes: BootCause[] = []
    const complain = (plugin: string, message: string): void => {
      causes.push({ plugin, phase: 'configuration', error: configErrors.ZIN_CONFIG_INVALID(message) })
    }
    const specs = units.map((unit) => unit.plugin.spec)
    for (const { plugin, problem } of declarationProblems(specs)) complain(plugin, problem)
    if (causes.length > 0) throw new BootError(causes)
    const development = this.#options.development ? Object.assign({}, ...specs.map((spec) => spec.developmentDefaults)) : {}
    const validator = new OptionsValidator()
    for (const unit of units) {
      const { spec, options } = unit.plugin
      const result = validator.validate(spec, options)
      if ('options' in result) unit.options = result.options
      else for (const problem of result.problems) complain(unit.name, problem)
      try {
        unit.settings = this.#options.settings.read(unit.name, withDefaults(spec.settings ?? {}, development))
      } catch (error) {
        complain(unit.name, messageOf(error))
      }
    }
    const result = buildGraph(units.map(nodeOf), this.#options.external)
    if ('problems' in result) for (const problem of result.problems) complain(problem.slice(0, problem.indexOf(':')), problem)
    if (causes.length > 0 || 'problems' in result) throw new BootError(causes)
    this.graph = result.graph
  }

  /** Runs one phase level by level, with the plugins of a level in parallel. Returns the failures that stop the boot. */
  async runLevels(phase: BootPhase, names: ReadonlySet<string>): Promise<BootCause[]> {
    const busy = new Set<string>()
    const silence = announceSlow(phase, () => [...busy], this.#options.parts.log)
    try {
      for (const level of this.levels(names)) {
        const causes: BootCause[] = []
        const run = async (unit: PluginUnit): Promise<void> => {
          if (unit.state === 'failed') return
          busy.add(unit.name)
          try {
            await this.runUnit(unit, phase)
          } catch (error) {
            const cause = { plugin: unit.name, phase, error: error as Error }
            const canContinue = unit.plugin.onBootFailure === 'continue' && !this.#options.phases.shutdown.begun
            causes.push(...(canContinue ? await this.#continueWithout(unit, cause) : [cause]))
          }
          busy.delete(unit.name)
        }
        await Promise.all(level.map(run))
        if (causes.length > 0) return causes
      }
      return []
    } finally {
      silence()
    }
  }

  runUnit(unit: PluginUnit, phase: BootPhase): Promise<void> {
    if (phase === 'setup') return this.setUp(unit)
    return phase === 'start' ? this.startUnit(unit) : runPhase(unit, 'ready', this.#options.phases)
  }

  async setUp(unit: PluginUnit): Promise<void> {
    unit.to('enabling')
    unit.context = makeContext(unit, this.#options.parts)
    unit.resources.add(this.#options.parts.bus.declare(unit.name, unit.plugin.spec.hooks ?? {}))
    await runPhase(unit, 'setup', this.#options.phases)
  }

  async startUnit(unit: PluginUnit): Promise<void> {
    unit.started = true
    await runPhase(unit, 'start', this.#options.phases, async () => {
      const [problem] = unit.problems()
      if (problem !== undefined) throw problem
      const verdict = await this.#options.parts.bus.slot('beforePluginStart').call(unit.name)
      if (verdict.denied) throw hostErrors.ZIN_PLUGIN_START_DENIED(verdict.plugin, verdict.reason)
    })
  }

  /** Stops this plugin and its dependents, so that the boot can continue without them. Returns the causes why it cannot. */
  async #continueWithout(unit: PluginUnit, { phase, error }: BootCause): Promise<BootCause[]> {
    this.#options.parts.log.error({ err: error, plugin: unit.name, phase }, `${unit.name} failed in ${phase}; the app continues without it`)
    await this.stopUnit(unit)
    unit.fail(error)
    for (const name of this.graph.dependentsOf(unit.name)) {
      const dependent = this.unit(name)
      await stopUnit(dependent, this.#options.phases)
      if (dependent.state !== 'failed') dependent.fail(hostErrors.ZIN_PLUGIN_SKIPPED(name, unit.name))
    }
    if (phase === 'setup') return []
    try {
      this.#options.parts.http.compile()
      return []
    } catch (fault) {
      // Other plugins use a middleware that is gone now.
      return [{ plugin: 'http', phase: 'routes', error: fault as Error }]
    }
  }

  unit(name: string): PluginUnit {
    const unit = this.#options.units.find((candidate) => candidate.name === name)
    if (unit === undefined)
      throw hostErrors.ZIN_PLUGIN_UNKNOWN(
        name,
        this.#options.units.map((known) => known.name),
      )
    return unit
  }

  enabled(): PluginUnit[] {
    return this.#options.units.filter((unit) => unit.state === 'enabled')
  }

  /** Returns plugins by level: all, or the named ones. */
  levels(names?: ReadonlySet<string>): PluginUnit[][] {
    return this.graph.levels.map((level) => level.filter((name) => names?.has(name) ?? true).map((name) => this.unit(name)))
  }

  ready(unit: PluginUnit): Promise<void> {
    return runPhase(unit, 'ready', this.#options.phases)
  }

  /** Returns the configuration problems that prevent plugins from starting. */
  problems(): readonly BootCause[] {
    const causesOf = (unit: PluginUnit): BootCause[] =>
      unit.problems().map((error) => ({ plugin: unit.name, phase: 'configuration', error }))
    return this.levels()
      .flat()
      .filter((unit) => unit.context !== undefined)
      .flatMap(causesOf)
  }

  /** Stops one plugin and undoes what it registered. */
  async stopUnit(unit: PluginUnit): Promise<StopRow> {
    const row = await stopUnit(unit, this.#options.phases)
    return (await endUnits([unit], [row], this.#options.phases))[0] ?? row
  }

  /** Stops all plugins, dependents first. */
  async stopAll(): Promise<readonly StopRow[]> {
    const rows = await stopLevels(this.levels(), this.#options.phases)
    return endUnits(this.#options.units, rows, this.#options.phases)
  }
}

const emptyGraph: PluginGraph = { order: [], levels: [], edgesOf: () => [], dependentsOf: () => [], closureOf: () => new Set() }

/** Returns the settings with some defaults replaced. */
function withDefaults(settings: SettingSpecs, defaults: Readonly<Record<string, SettingSpec['default']>>): SettingSpecs {
  const entries = Object.entries(settings).map(([name, spec]) => [name, { ...spec, default: defaults[name] ?? spec.default }])
  return Object.fromEntries(entries)
}

function nodeOf(unit: PluginUnit): GraphNode {
  const { name, version, dependencies = [], uses = {}, provides = [], before = [] } = unit.plugin.spec
  return {
    name,
    version,
    dependencies,
    uses: Object.values(uses as Uses)
      .filter((ref) => !isLater(ref))
      .map((ref) => ({ service: ref.id, optional: ref.optional })),
    before,
    provides: (provides as readonly ServiceRef<unknown>[]).map((ref) => ref.id),
  }
}
