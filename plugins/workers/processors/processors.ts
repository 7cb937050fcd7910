import type { SlotOf } from 'zin'
import { withDeadline } from 'zin'
import { workerErrors } from '../errors.js'
import type { WorkerHooks } from '../hooks.js'
import type { WorkerRecord } from '../record/record.js'
import type { WorkerProcessor } from '../types.js'
import { loadProcessor, locateProcessor } from './load-path.js'
import type { ProcessorRegistry } from './registry.js'

/** A file that takes longer than this to load hangs. */
const loadMs = 10_000

/** Finds what does a worker's jobs: its record's file, else what code registered, else what the hook answers. */
export class Processors {
  readonly #registry: ProcessorRegistry
  readonly #roots: readonly string[]
  readonly #hook: SlotOf<WorkerHooks['resolveProcessor']>

  constructor(registry: ProcessorRegistry, roots: readonly string[], hook: SlotOf<WorkerHooks['resolveProcessor']>) {
    this.#registry = registry
    this.#roots = roots
    this.#hook = hook
  }

  /** Refuses what could not be started later, without loading code. */
  async check(record: WorkerRecord): Promise<void> {
    const found = await this.#find(record)
    if (found === undefined) throw workerErrors.MISSING_PROCESSOR_SPEC(record.name)
    if (typeof found === 'string') await locateProcessor(found, this.#roots)
  }

  async load(record: WorkerRecord): Promise<WorkerProcessor> {
    const found = await this.#find(record)
    if (found === undefined) throw workerErrors.MISSING_PROCESSOR_SPEC(record.name)
    if (typeof found === 'function') return found
    return withDeadline(
      loadProcessor(found, this.#roots),
      loadMs,
      `Worker "${record.name}": its processor "${found}" did not load within ${loadMs} ms`,
    )
  }

  async #find(record: WorkerRecord): Promise<WorkerProcessor | string | undefined> {
    if (record.processor !== null) return record.processor
    return (await this.#registry.find(record.name)) ?? (this.#hook.active ? await this.#hook.call(record.name) : undefined)
  }
}
