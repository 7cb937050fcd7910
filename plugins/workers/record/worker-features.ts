import { isDeepStrictEqual } from 'node:util'
import { refuse, workerErrors } from '../errors.js'
import type { WorkerFeature } from './define-feature.js'
import { type Problem, problem, unknownName } from './problem.js'
import { type FeatureName, type Features, featureNames, type UpdateWorker, type WorkerRecord } from './record.js'

/** The plugin that implements each built-in feature. */
const owners: Readonly<Record<FeatureName, string>> = {
  metrics: 'workers',
  versioning: 'workers',
  deadLetterQueue: 'workers',
  clustering: 'workers',
  plugins: 'workers',
  healthMonitoring: 'worker-health',
  resourceMonitoring: 'resources',
  observability: 'observability',
  autoScaling: 'autoscale',
  datacenter: 'autoscale',
  circuitBreaker: 'breaker',
  canary: 'canary',
  compliance: 'compliance',
}

/** Features that this plugin implements. */
const own: readonly string[] = ['metrics', 'versioning', 'deadLetterQueue', 'clustering', 'plugins']

/** Features of this plugin without which a feature has no effect. */
const needs: Readonly<Record<string, FeatureName | undefined>> = { circuitBreaker: 'plugins', canary: 'versioning' }

type Asked = Pick<UpdateWorker, 'features' | 'extensions'>

/** The features of one app: which are active, and the schemas of their plugins' parts of a record. */
export class WorkerFeatures {
  readonly #offered = new Map<string, WorkerFeature>()

  /**
   * Called by the plugin that owns a feature. Returns a function that withdraws it. Throws WORKER_FEATURE_INVALID when its schema is
   * invalid, or when the feature or the plugin's part of the record has another owner.
   */
  offer(offered: WorkerFeature): () => void {
    const { feature, plugin } = offered
    const invalid = (what: string) => workerErrors.WORKER_FEATURE_INVALID(plugin, feature, what)
    const owner = Object.hasOwn(owners, feature) ? owners[feature as FeatureName] : this.#offered.get(feature)?.plugin
    if (owner !== undefined && owner !== plugin) throw invalid(`it belongs to the plugin "${owner}"; choose another name`)
    if (this.#offered.has(feature)) throw invalid('it is offered twice; offer it once, when the plugin starts')
    if (offered.extends) {
      if (this.#extension(plugin) !== undefined)
        throw invalid("another feature already owns the plugin's part of the record; declare one of them with no schema")
      offered.parse({})
    }
    this.#offered.set(feature, offered)
    return () => {
      if (this.#offered.get(feature) === offered) this.#offered.delete(feature)
    }
  }

  /**
   * Features of a record that are true but inactive, because the plugin that provides them is not enabled, or a feature that they need is
   * false.
   */
  inactive(features: Features): readonly string[] {
    const isCut = (feature: string): boolean => features[needs[feature] ?? ''] === false
    return Object.keys(features).filter((feature) => features[feature] === true && (!this.#isActive(feature) || isCut(feature)))
  }

  /**
   * A record with the requested data of plugins, with defaults filled in; data of plugins that the request does not mention
   * stays unchanged. Throws the problems of the request.
   *
   * @param before absent at creation.
   */
  complete(record: WorkerRecord, asked: Asked, before?: WorkerRecord): WorkerRecord {
    const extensions: Record<string, object> = { ...before?.extensions }
    const versions: Record<string, number> = { ...before?.extensionVersions }
    const problems = [...this.#featureProblems(asked.features, before)]
    const write = (plugin: string, data: unknown): void => {
      const feature = this.#extension(plugin)
      if (data === null) {
        delete extensions[plugin]
        delete versions[plugin]
      } else if (feature === undefined) {
        // Writing back unchanged data is allowed.
        if (!Object.hasOwn(extensions, plugin) || !isDeepStrictEqual(extensions[plugin], data)) problems.push(unavailableExtension(plugin))
      } else {
        const parsed = feature.parse(data)
        if ('problems' in parsed) problems.push(...parsed.problems)
        else {
          extensions[plugin] = parsed.data as object
          versions[plugin] = feature.version
        }
      }
    }
    for (const [plugin, data] of Object.entries(asked.extensions ?? {})) if (data !== undefined) write(plugin, data)
    const asks = before === undefined || asked.features !== undefined || asked.extensions !== undefined
    for (const feature of asks ? this.#offered.values() : []) {
      const { plugin } = feature
      const isAskedFor = Object.hasOwn(asked.extensions ?? {}, plugin) && asked.extensions?.[plugin] !== null
      if (feature.extends && feature.isOn(record) && !Object.hasOwn(extensions, plugin) && !isAskedFor) write(plugin, {})
    }
    refuse(problems)
    const { extensions: _, extensionVersions: __, ...rest } = record
    return Object.keys(extensions).length === 0 ? rest : { ...rest, extensions, extensionVersions: versions }
  }

  #featureProblems(features: Features = {}, before?: WorkerRecord): readonly Problem[] {
    return Object.keys(features).flatMap((feature) => {
      const field = `features.${feature}`
      const isListed = Object.hasOwn(owners, feature)
      const isKnown = isListed || this.#offered.has(feature) || Object.hasOwn(before?.features ?? {}, feature)
      if (!isKnown) {
        const known = [...featureNames, ...[...this.#offered.keys()].filter((name) => !Object.hasOwn(owners, name))]
        return [unknownName(feature, known, 'INVALID_FEATURE', 'features')]
      }
      if (features[feature] !== true || this.#isActive(feature)) return []
      const why = isListed ? whyNot(feature as FeatureName) : 'cannot be true: the plugin that provides it is not enabled in this app'
      return [problem(field, 'FEATURE_UNAVAILABLE', `"${field}" ${why}`)]
    })
  }

  #isActive(feature: string): boolean {
    return own.includes(feature) || this.#offered.has(feature)
  }

  #extension(plugin: string): WorkerFeature | undefined {
    return [...this.#offered.values()].find((offered) => offered.extends && offered.plugin === plugin)
  }
}

function whyNot(feature: FeatureName): string {
  return `cannot be true: the plugin "${owners[feature]}", which provides it, is not enabled in this app`
}

function unavailableExtension(plugin: string): Problem {
  const field = `extensions.${plugin}`
  const why = `the plugin "${plugin}" is not enabled in this app, or has no part of a worker's record`
  return problem(field, 'EXTENSION_UNAVAILABLE', `"${field}" cannot be set: ${why}`)
}
