import { configErrors } from '../config/errors.js'
import type { SettingsReader } from '../config/read-settings.js'
import type { SettingSpec, SettingSpecs } from '../config/settings.js'
import { OptionsValidator } from '../config/validate-options.js'
import { isLater, type ServiceRef, type Uses } from '../services/ref.js'
import { type BootCause, BootError, isPackageMissing } from './boot-error.js'
import { declarationProblems } from './declarations.js'
import { hostErrors } from './errors.js'
import { buildGraph, type GraphNode, type PluginGraph } from './graph.js'
import { type HostParts, makeContext } from './make-context.js'
import { addCommand, missingPackages } from './packages.js'
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
  /** Plugins with invalid settings: the others can be set up and checked, but nothing starts. */
  #faulty: ReadonlySet<string> = new Set()
  /** Plugins that cannot be set up, and those that need them. */
  #lost = new Set<string>()

  constructor(options: LifecycleOptions) {
    this.#options = options
  }

  /**
   * Checks the options and settings of these plugins and sorts them. Returns the problems with which the other plugins can still be set up,
   * to find theirs. Throws a {@link BootError} that lists every problem if plugins are declared wrongly.
   */
  adopt(units: readonly PluginUnit[]): readonly BootCause[] {
    const causes: BootCause[] = []
    const complain = (plugin: string, message: string): void => {
      causes.push({ plugin, phase: 'configuration', error: configErrors.ZIN_CONFIG_INVALID(message) })
    }
    const specs = units.map((unit) => unit.plugin.spec)
    for (const { plugin, problem } of declarationProblems(specs)) complain(plugin, problem)
    if (causes.length > 0) throw new BootError(causes)
    const development = this.#options.development ? Object.assign({}, ...specs.map((spec) => spec.developmentDefaults)) : {}
    const validator = new OptionsValidator()
    const faulty = new Set<string>()
    const lost = new Set<string>()
    for (const unit of units) {
      const { spec, options } = unit.plugin
      const result = validator.validate(spec, options)
      if ('options' in result) unit.options = result.options
      else {
        for (const problem of result.problems) complain(unit.name, problem)
        lost.add(unit.name)
      }
      const { problems, values } = this.#options.settings.tryRead(unit.name, withDefaults(spec.settings ?? {}, development))
      unit.settings = values
      for (const problem of problems) complain(unit.name, problem)
      if (problems.length > 0) faulty.add(unit.name)
      const missing = lost.has(unit.name) ? [] : missingPackages(spec, unit.options, values, this.#options.parts.view.app.rootDir)
      if (missing.length === 0) continue
      causes.push({ plugin: unit.name, phase: 'configuration', error: hostErrors.ZIN_PACKAGE_MISSING(missing, addCommand(spec, missing)) })
      lost.add(unit.name)
    }
    const { graph, leftOut, problems } = buildGraph(units.map(nodeOf), this.#options.external)
    for (const problem of problems) complain(problem.slice(0, problem.indexOf(':')), problem)
    this.graph = graph
    this.#faulty = faulty
    this.#lost = new Set([...lost, ...leftOut])
    return causes
  }

  /**
   * Runs one phase level by level, with the plugins of a level in parallel. Returns the failures that stop the boot: all those of `setup`,
   * the problems that the checks of the plugins find before any is started, or those of a level.
   */
  async runLevels(phase: BootPhase, names: ReadonlySet<string>): Promise<BootCause[]> {
    const busy = new Set<string>()
    const causes: BootCause[] = phase === 'start' ? await this.#check(names) : []
    const silence = announceSlow(phase, () => [...busy], this.#options.parts.log)
    try {
      for (const level of this.levels(names)) {
        // After a failed setup, the others are still set up, so that their problems are found, too.
        if (causes.length > 0 && (phase !== 'setup' || this.#options.phases.shutdown.begun)) return causes
        const run = async (unit: PluginUnit): Promise<void> => {
          if (unit.state === 'failed' || this.#isLost(unit)) return
          busy.add(unit.name)
          try {
            await this.#runUnit(unit, phase)
          } catch (error) {
            causes.push(...(await this.#failed(causeOf(unit, phase, error as Error))))
          }
          busy.delete(unit.name)
        }
        await Promise.all(level.map(run))
      }
      return causes
    } finally {
      silence()
    }
  }

  /** Whether a plugin cannot be set up, because it, or one that it needs, failed to. */
  #isLost({ name }: PluginUnit): boolean {
    if (this.graph.edgesOf(name).some(({ on }) => this.#lost.has(on))) this.#lost.add(name)
    return this.#lost.has(name)
  }

  /** Returns the causes why the boot cannot continue after a failure. */
  async #failed(cause: BootCause): Promise<readonly BootCause[]> {
    const unit = this.unit(cause.plugin)
    if (unit.plugin.onBootFailure === 'continue' && !this.#options.phases.shutdown.begun) return this.#continueWithout(unit, cause)
    if (cause.phase === 'setup') this.#lost.add(unit.name)
    // It was set up with defaults instead of its invalid settings, which are reported.
    return this.#faulty.has(unit.name) ? [] : [cause]
  }

  #runUnit(unit: PluginUnit, phase: BootPhase): Promise<void> {
    if (phase === 'setup') return this.setUp(unit)
    if (phase === 'ready') return runPhase(unit, 'ready', this.#options.phases)
    // A check may have counted on a plugin that failed since.
    return this.startUnit(unit, { checked: this.#options.units.every(({ state }) => state !== 'failed') })
  }

  /** Runs the checks of these plugins. Returns the problems because of which the app must not start. */
  async #check(names: ReadonlySet<string>): Promise<BootCause[]> {
    const causes: BootCause[] = []
    for (const unit of this.levels(names).flat()) {
      const [first, ...others] = unit.state === 'failed' ? [] : problemsOf(unit)
      if (first === undefined) continue
      if (unit.plugin.onBootFailure === 'continue') causes.push(...(await this.#failed({ ...first, phase: 'start' })))
      else causes.push(first, ...others)
    }
    return causes
  }

  async setUp(unit: PluginUnit): Promise<void> {
    unit.to('enabling')
    unit.context = makeContext(unit, this.#options.parts)
    unit.resources.add(this.#options.parts.bus.declare(unit.name, unit.plugin.spec.hooks ?? {}))
    const { routes = [] } = unit.plugin.spec
    unit.context.routes(routes)
    await runPhase(unit, 'setup', this.#options.phases)
  }

  /** @param checked whether its checks have passed. */
  async startUnit(unit: PluginUnit, { checked }: { readonly checked: boolean }): Promise<void> {
    unit.started = true
    await runPhase(unit, 'start', this.#options.phases, async () => {
      const problems = checked ? [] : problemsOf(unit)
      if (problems.length > 0) throw problems.length === 1 ? (problems[0] as (typeof problems)[0]).error : new BootError(problems)
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

  /** Returns the configuration problems that prevent the plugins that are set up from starting. */
  problems(): readonly BootCause[] {
    return this.levels()
      .flat()
      .filter((unit) => unit.context !== undefined && !this.#lost.has(unit.name) && !this.#faulty.has(unit.name))
      .flatMap(problemsOf)
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

/** A package that was missing when it was imported is reported like one that the plugin declares. */
function causeOf({ name, plugin: { spec } }: PluginUnit, phase: BootPhase, error: Error): BootCause {
  if (!isPackageMissing(error)) return { plugin: name, phase, error }
  return { plugin: name, phase, error: hostErrors.ZIN_PACKAGE_MISSING(error.details, addCommand(spec, error.details)) }
}

function problemsOf(unit: PluginUnit): BootCause[] {
  return unit.problems().map((error) => ({ plugin: unit.name, phase: 'configuration', error }))
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
