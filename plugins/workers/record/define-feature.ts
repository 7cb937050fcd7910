import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import type { Static, TSchema } from 'typebox'
import { messageOf } from 'zin'
import { workerErrors } from '../errors.js'
import { isIntIn, type Problem, problem } from './problem.js'
import type { WorkerRecord } from './record.js'

/** What {@link defineWorkerFeature} takes. */
export interface WorkerFeatureSpec<Schema extends TSchema = TSchema> {
  /** Name of the plugin that provides the feature. Its part of a worker's record is `extensions[plugin]`. */
  readonly plugin: string
  /** Name of the feature in `features`: 2–50 letters and digits, starting with a letter. */
  readonly feature: string
  /**
   * Schema of the plugin's part: an object, in which fields with a `default` are filled in. The API returns the data, so it must not
   * contain secrets. Default: the feature has no part of the record.
   */
  readonly schema?: Schema
  /** Version of the schema, 1–1000. Default 1. Increase it with every change that existing data may not match. */
  readonly version?: number
  /** Converts data of an earlier version to this one. Required from version 2 on. */
  readonly upgrade?: (data: unknown, version: number) => unknown
}

/** The parsed data of a plugin's part of a record, or its problems. */
export type ParsedExtension<T> = { readonly data: T } | { readonly problems: readonly Problem[] }

/** A feature of workers that a plugin provides, with its part of their records. Register it with `Workers.offerFeature`. */
export interface WorkerFeature<T = unknown> {
  readonly plugin: string
  readonly feature: string
  readonly version: number
  /** Whether it has a part of the record. */
  readonly extends: boolean
  /** Whether the worker has the feature. */
  isOn(record: Pick<WorkerRecord, 'features'>): boolean
  /**
   * Returns the plugin's part of a record; undefined when there is none. Data of an earlier version is upgraded.
   * Throws WORKER_EXTENSION_UNREADABLE for data of a later version, data that `upgrade` cannot convert, and data that does not match the
   * schema.
   */
  of(record: Pick<WorkerRecord, 'name' | 'extensions' | 'extensionVersions'>): T | undefined
  /** Validates data of a request, and fills in defaults. Throws WORKER_FEATURE_INVALID when the schema is invalid. */
  parse(data: unknown): ParsedExtension<T>
}

/** Names of plugins and features, safe to use in the path of an error. */
export const pluginName = /^[a-z0-9][a-z0-9-]{0,49}$/
export const featureName = /^[a-zA-Z][a-zA-Z0-9]{1,49}$/
const latestVersion = 1000

/**
 * Declares a feature of workers that a plugin provides: its name in `features`, and the shape of the plugin's part of the record. Throws
 * WORKER_FEATURE_INVALID, with the name of the plugin and what to change.
 *
 * @example
 * import { definePlugin, Type } from 'zin'
 * import { defineWorkerFeature, workersService } from 'zin/plugins/workers'
 *
 * const pacing = defineWorkerFeature({
 *   plugin: 'pace',
 *   feature: 'pacing',
 *   schema: Type.Object({ perMinute: Type.Integer({ minimum: 1, default: 60 }) }, { additionalProperties: false }),
 * })
 *
 * export const pace = definePlugin({
 *   name: 'pace',
 *   version: '1.0.0',
 *   uses: { workers: workersService },
 *   setup(ctx) {
 *     ctx.onStart(() => ctx.onStop(ctx.services.workers.offerFeature(pacing)))
 *     ctx.hooks.on('onWorkerStart', async (name) => {
 *       const worker = await ctx.services.workers.get(name)
 *       if (pacing.isOn(worker)) ctx.log.info({ worker: name }, `${pacing.of(worker)?.perMinute} jobs a minute`)
 *     })
 *   },
 * })
 */
export function defineWorkerFeature<Schema extends TSchema = TSchema>(spec: WorkerFeatureSpec<Schema>): WorkerFeature<Static<Schema>> {
  const { plugin, feature, schema, version = 1, upgrade } = spec
  const invalid = (what: string) => workerErrors.WORKER_FEATURE_INVALID(String(plugin), String(feature), what)
  if (typeof plugin !== 'string' || !pluginName.test(plugin)) throw invalid('"plugin" must be the name of the plugin')
  if (typeof feature !== 'string' || !featureName.test(feature))
    throw invalid('"feature" must be 2 to 50 letters and digits, starting with a letter')
  if (schema !== undefined && (schema as { type?: unknown }).type !== 'object') throw invalid('"schema" must be the schema of an object')
  if (!isIntIn(version, 1, latestVersion)) throw invalid(`"version" must be an integer from 1 to ${latestVersion}`)
  if (schema !== undefined && version > 1 && typeof upgrade !== 'function')
    throw invalid('"upgrade" must be a function from version 2 on, to convert data of earlier versions')
  let validate: ValidateFunction | undefined
  const validator = (): ValidateFunction => {
    try {
      validate ??= engine().compile(schema ?? false)
    } catch (error) {
      throw invalid(`"schema" cannot be used: ${messageOf(error)}`)
    }
    return validate
  }
  const parse = (data: unknown): ParsedExtension<Static<Schema>> => {
    const matches = validator()
    // A copy in stored form, into which defaults are filled.
    const filled: unknown = JSON.parse(JSON.stringify(data) ?? 'null')
    if (matches(filled)) return { data: filled as Static<Schema> }
    return { problems: (matches.errors ?? []).slice(0, mostProblems).map((error) => problemOf(plugin, error)) }
  }
  const dataOf: WorkerFeature<Static<Schema>>['of'] = ({ name, extensions, extensionVersions }) => {
    if (extensions === undefined || !Object.hasOwn(extensions, plugin)) return undefined
    const stored = extensions[plugin]
    const storedVersion = extensionVersions?.[plugin] ?? 1
    const unreadable = (why: string) => workerErrors.WORKER_EXTENSION_UNREADABLE(name, plugin, why)
    if (storedVersion > version) throw unreadable(`it was written with version ${storedVersion} of its schema, and this one is ${version}`)
    let data: unknown = stored
    try {
      if (storedVersion < version && upgrade !== undefined) data = upgrade(structuredClone(stored), storedVersion)
    } catch (error) {
      throw unreadable(`its upgrade from version ${storedVersion} failed: ${messageOf(error)}`)
    }
    const parsed = parse(data)
    if ('problems' in parsed) throw unreadable(parsed.problems.map(({ message }) => message).join('; '))
    return parsed.data
  }
  return {
    plugin,
    feature,
    version,
    extends: schema !== undefined,
    isOn: ({ features }) => features[feature] === true,
    of: dataOf,
    parse,
  }
}

const mostProblems = 20

function engine(): Ajv {
  const ajv = new Ajv({ allErrors: true, strict: false, useDefaults: true, ownProperties: true, logger: false })
  ajvFormats.default(ajv)
  return ajv
}

function problemOf(plugin: string, { instancePath, keyword, message = 'is invalid', params }: ErrorObject): Problem {
  const { missingProperty, additionalProperty } = params as { missingProperty?: string; additionalProperty?: string }
  const inside = missingProperty ?? additionalProperty
  const path = ['extensions', plugin, ...instancePath.split('/').slice(1), ...(inside === undefined ? [] : [inside])].join('.')
  const what = keyword === 'required' ? 'is required' : keyword === 'additionalProperties' ? 'is not a known field' : message
  return problem(path, 'INVALID_EXTENSION', `"${path}" ${what}`)
}
