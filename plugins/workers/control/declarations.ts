import { isDeepStrictEqual } from 'node:util'
import { type Logger, messageOf, ZinError } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import { type AutoStartSettings, autoStart } from '../auto-start.js'
import { refuse, workerErrors } from '../errors.js'
import type { ProcessorRegistry } from '../processors/registry.js'
import { problemsOf } from '../record/checks.js'
import type { CreateWorker, RegisterVersion } from '../record/record.js'
import { nextPatch } from '../record/version.js'
import type { StoredWorker } from '../store/contract.js'
import type { StoreRegistry } from '../store/registry.js'
import type { Changes } from './changes.js'
import type { Versions } from './versions.js'
import type { WorkerRecords } from './worker-records.js'

export interface DeclarationsParts {
  readonly changes: Changes
  readonly records: WorkerRecords
  readonly versions: Versions
  readonly registry: ProcessorRegistry
  readonly storeRegistry: StoreRegistry
  readonly rule: AutoStartSettings
  readonly log: Logger
}

interface Declared {
  readonly worker: CreateWorker
  /** Where it is in the code, for errors. */
  readonly place: string
  readonly actor: Actor
}

/** Who declares the workers of the option `declare`. */
export const configuration = 'zin.config'

/** The start of the app does not wait until a worker runs. */
const noWait = { waitMs: 0 }

/**
 * Workers that are declared in code: created when they are absent, and changed where their declaration differs. Fields that a declaration
 * does not name, the scaled concurrency and whether the worker runs are up to operators.
 */
export class Declarations {
  readonly #parts: DeclarationsParts
  readonly #declared = new Map<string, Declared>()
  /** Those that are not applied yet, with the error of the last attempt. */
  readonly #left = new Map<string, Error | undefined>()
  /** How many declarations each actor has made. */
  readonly #counts = new Map<string, number>()
  #begun = false
  #applying: Promise<void> = Promise.resolve()

  constructor(parts: DeclarationsParts) {
    this.#parts = parts
  }

  /** Declares a worker, and registers its functions here. Returns a function that withdraws the declaration and leaves the worker. */
  add(worker: CreateWorker, actor: Actor): () => void {
    const before = this.#counts.get(actor.id) ?? 0
    this.#counts.set(actor.id, before + 1)
    const place = actor.id === configuration ? `workers.declare[${before}]` : `declaration ${before + 1} of ${actor.id}`
    const withdraw = locating(place, () => this.#register(worker))
    const { name } = worker
    this.#declared.set(name, { worker, place, actor })
    this.#left.set(name, undefined)
    if (this.#begun) void this.apply()
    return () => {
      for (const take of withdraw) take()
      this.#declared.delete(name)
      this.#left.delete(name)
    }
  }

  #register(worker: CreateWorker): readonly (() => void)[] {
    refuse(problemsOf(worker))
    const { name, processor, healthCheck } = worker
    const other = this.#declared.get(name)
    if (other !== undefined) throw workerErrors.WORKER_DECLARED(name, `${other.actor.id} (${other.place})`)
    const { registry } = this.#parts
    const withdraw: (() => void)[] = []
    if (typeof processor === 'function') withdraw.push(registry.register(name, processor))
    if (typeof healthCheck === 'function') withdraw.push(registry.registerHealthCheck(name, healthCheck))
    return withdraw
  }

  /** Applies the declarations of this process. Logs the workers that are no longer declared, and those with `autoStart: true` that do not start. */
  async begin(): Promise<void> {
    this.#begun = true
    await this.apply()
    try {
      const stored = await this.#parts.storeRegistry.all()
      this.#warnOfIdle(stored)
      const gone = stored.flatMap(({ declaredBy, record: { name } }) =>
        declaredBy === undefined || this.#declared.has(name) ? [] : [{ name, declaredBy }],
      )
      if (gone.length === 0) return
      const shown = gone.slice(0, 20).map(({ name, declaredBy }) => `${name} (${declaredBy})`)
      const names = `${shown.join(', ')}${gone.length > shown.length ? ` and ${gone.length - shown.length} more` : ''}`
      const what = `workers that are no longer declared: ${names}`
      this.#parts.log.warn(
        { workers: gone.map(({ name }) => name) },
        `${what}; they are unchanged, and "zin worker:remove <name>" removes one`,
      )
    } catch (error) {
      this.#parts.log.warn({ err: error }, `whether workers are no longer declared was not checked: ${messageOf(error)}`)
    }
  }

  /** Warns of workers that are declared with `autoStart: true` and that no setting lets start: their jobs would wait, and nothing else says why. */
  #warnOfIdle(stored: readonly StoredWorker[]): void {
    const { log, rule } = this.#parts
    for (const { desired, record } of stored) {
      const isStopped = desired.state === 'stopped' && desired.by === 'operator'
      if (isStopped || this.#declared.get(record.name)?.worker.autoStart !== true) continue
      const { reason, setting, start } = autoStart(rule, record, desired)
      if (start || setting === undefined) continue
      log.warn(
        { worker: record.name },
        `worker "${record.name}" is declared with autoStart: true and does not start: ${reason}; set ${setting} in the environment or .env, or start it with "zin worker:start ${record.name}"`,
      )
    }
  }

  /** Applies what is left, such as what a store that could not be reached prevented. Runs one after another. */
  apply(): Promise<void> {
    if (this.#begun && this.#left.size > 0) this.#applying = this.#applying.then(() => this.#applyLeft())
    return this.#applying
  }

  /** Throws if a declaration is not applied. */
  check(): void {
    for (const [name, error] of this.#left)
      if (error !== undefined) throw workerErrors.WORKER_NOT_DECLARED(name, this.#declared.get(name)?.place ?? '', error)
  }

  async #applyLeft(): Promise<void> {
    for (const [name, before] of [...this.#left]) {
      const declared = this.#declared.get(name)
      // What is invalid stays invalid until the app starts with other code.
      if (declared === undefined || (before !== undefined && !isPassing(before))) continue
      try {
        await this.#applyOne(declared)
        this.#left.delete(name)
      } catch (error) {
        const fault = error instanceof Error ? error : new Error(messageOf(error))
        if (before?.message !== fault.message) {
          this.#parts.log.error({ worker: name, err: fault }, workerErrors.WORKER_NOT_DECLARED(name, declared.place, fault).message)
        }
        if (this.#declared.has(name)) this.#left.set(name, fault)
      }
    }
  }

  async #applyOne({ actor, worker }: Pick<Declared, 'actor' | 'worker'>): Promise<void> {
    const { changes, records, storeRegistry } = this.#parts
    const { name } = worker
    const found = await storeRegistry.find(name)
    if (found === undefined) {
      try {
        const options = { ...noWait, declaredBy: actor.id }
        await changes.run({ action: 'create', worker: name, actor }, (step) => records.create(worker, step, options))
        return
      } catch (error) {
        // Another process created it in the meantime.
        if (!(error instanceof ZinError && error.code === 'WORKER_EXISTS')) throw error
        return this.#applyOne({ actor, worker })
      }
    }
    const { healthCheck: _, infrastructure: __, name: ___, processor: ____, version: _____, ...fields } = worker
    if (records.differs(found.worker, fields) || found.worker.declaredBy !== actor.id) {
      const options = { ...noWait, declaredBy: actor.id }
      await changes.run({ action: 'update', worker: name, actor }, (step) => records.update(name, fields, step, options))
    }
    await this.#applyCode(found.worker, { actor, worker })
  }

  /** Registers and activates code that no version has. Which of the versions runs afterwards is up to operators. */
  async #applyCode(stored: StoredWorker, { actor, worker }: Pick<Declared, 'actor' | 'worker'>): Promise<void> {
    const { changes, log, versions } = this.#parts
    const { name, version } = worker
    const code = codeOf(worker)
    const same = stored.versions.find((known) => known.version === version)
    if (same !== undefined) {
      if (!isDeepStrictEqual(codeOf(same), code)) {
        log.warn(
          { worker: name, version },
          `worker "${name}": its declaration has other code than the stored version ${version}, which is unchanged; declare another version`,
        )
      }
      return
    }
    if (version === undefined && stored.versions.some((known) => isDeepStrictEqual(codeOf(known), code))) return
    const next: RegisterVersion = {
      version: version ?? nextPatch(stored.versions.map((known) => known.version)),
      // Functions are registered by the name of the worker.
      ...(typeof worker.processor === 'string' ? { processor: worker.processor } : {}),
      ...(typeof worker.healthCheck === 'string' ? { healthCheck: worker.healthCheck } : {}),
    }
    const target = next.version
    try {
      await changes.run({ action: 'version.register', worker: name, target, actor }, (step) => versions.register(name, next, step))
    } catch (error) {
      if (error instanceof ZinError && error.code === 'VERSION_EXISTS') return
      throw error
    }
    await changes.run({ action: 'version.activate', worker: name, target, actor }, (step) => versions.activate(name, target, step, noWait))
  }
}

/** Begins the message of an error with the place of what caused it. */
function locating<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ZinError)) throw error
    const { code, details, status } = error
    throw new ZinError(code, `${place}: ${error.message}`, { details, status, cause: error })
  }
}

/** The code of a version as it is stored: null for functions; a file may have the extension of its source or of its build. */
function codeOf({ processor, healthCheck }: { readonly processor?: unknown; readonly healthCheck?: unknown }): readonly unknown[] {
  return [processor, healthCheck].map((code) => (typeof code === 'string' ? code.replace(/\.(?:ts|mts|js|mjs|cjs)$/, '') : null))
}

/** Whether the error may pass without a change of the code. */
function isPassing(error: Error): boolean {
  return !(error instanceof ZinError) || error.status >= 500 || error.code === 'WORKER_CHANGED'
}
