import type { Clock, HostView, Logger, SlotOf } from 'zin'
import { withDeadline } from 'zin'
import type { WorkerHealthCheck } from '../health/check.js'
import type { WorkerHooks } from '../hooks.js'
import type { WorkersOptions } from '../options.js'
import { isUrl } from '../record/processor-url.js'
import { processorErrors } from './errors.js'
import { fileExports, healthCheckExports, urlExports } from './exported.js'
import { loadExport, locateProcessor, type ProcessorRoots } from './load-path.js'
import type { LoadedProcessor, ProcessorSpec, WorkerProcessor } from './processor.js'
import type { ProcessorRegistry } from './registry.js'
import { type SandboxCode, Sandboxes } from './sandbox/sandboxes.js'
import { registerTypescript } from './typescript.js'
import type { Egress } from './url/fetch-code.js'
import { RemoteCode } from './url/remote-code.js'
import { type RemoteSettings, remoteCodeOptions } from './url/settings.js'
import { shownUrl } from './url/source.js'

export interface ProcessorsParts {
  readonly registry: ProcessorRegistry
  readonly roots: ProcessorRoots
  readonly hook: SlotOf<WorkerHooks['resolveProcessor']>
  readonly settings: RemoteSettings
  readonly options: Pick<WorkersOptions, 'sandbox' | 'runtime'>
  readonly host: Pick<HostView, 'app'>
  readonly clock: Clock
  readonly log: Logger
  /** How URLs are fetched. Default: through the egress guard. */
  readonly egress?: Egress
}

/** Deadline for loading a file and for resolvers, in ms. */
const loadMs = 10_000

/** A processor may be given as the function itself. */
type FoundSpec = Omit<ProcessorSpec, 'processor'> & { readonly processor: WorkerProcessor | string | null }

export interface CheckedSpec extends FoundSpec {
  /** File path; null if there is none or it is registered in code. Default null. */
  readonly healthCheck?: string | null
}

/** The code that a spec refers to. */
type Found =
  | { readonly kind: 'function'; readonly run: WorkerProcessor; readonly prebuilt: boolean }
  | { readonly kind: 'url' | 'path'; readonly text: string }

/** Finds and loads processors: from the file or URL of the version, else registered in code, else returned by the hook. */
export class Processors {
  readonly #parts: ProcessorsParts
  readonly #remote: RemoteCode
  readonly #sandboxes: Sandboxes
  #typescript: Promise<void> | undefined

  constructor(parts: ProcessorsParts) {
    const { clock, host, log, options, settings } = parts
    this.#parts = parts
    this.#remote = new RemoteCode(remoteCodeOptions({ settings, app: host.app, clock, egress: parts.egress }))
    this.#sandboxes = new Sandboxes({ clock, log, environment: host.app.environment, memoryMb: options.sandbox?.memoryMb, loadMs })
  }

  /** Throws if the processor or health check could not be loaded later. Neither loads nor fetches code. */
  async check({ healthCheck = null, ...spec }: CheckedSpec): Promise<void> {
    const found = await this.#find(spec)
    if (found.kind === 'url') this.#remote.check(found.text)
    if (found.kind === 'path') await locateProcessor(found.text, this.#parts.roots)
    if (healthCheck !== null)
      await locateProcessor(this.#healthCheckPath(healthCheck), this.#parts.roots, processorErrors.INVALID_HEALTH_CHECK)
  }

  /** Whether this node can find the code of a version. */
  async isKnown(spec: FoundSpec): Promise<boolean> {
    return (await this.#lookUp(spec)) !== undefined
  }

  /** Loads the code, and starts the first thread or process if it is isolated. The caller closes the processor. */
  async load(spec: ProcessorSpec): Promise<LoadedProcessor> {
    const found = await this.#find(spec)
    if (found.kind === 'function') return inline(found.run)
    if (found.kind === 'url') return this.#loadUrl(spec, found.text)
    if (spec.isolation === 'inline') return inline((await this.#import(found.text, fileExports)) as WorkerProcessor)
    const locate = (): Promise<string> => locateProcessor(found.text, this.#parts.roots)
    return this.#isolate(spec, spec.isolation, { locate, processor: found.text, exports: fileExports })
  }

  /** Returns the health check of a version, from its file or else registered. It always runs in this process. */
  async loadHealthCheck(worker: string, version: string, path: string | null): Promise<WorkerHealthCheck | undefined> {
    if (path === null) return this.#parts.registry.healthCheck(worker, version)
    return (await this.#import(this.#healthCheckPath(path), healthCheckExports)) as WorkerHealthCheck
  }

  /** Aborts fetches, so that pending loads fail. */
  stopLoading(): Promise<void> {
    return this.#remote.close()
  }

  /** Aborts fetches, and ends the remaining threads and processes. */
  async close(): Promise<void> {
    await Promise.all([this.#remote.close(), this.#sandboxes.close()])
  }

  get #edge(): boolean {
    return this.#parts.options.runtime === 'edge'
  }

  #healthCheckPath(path: string): string {
    if (this.#edge) throw processorErrors.PROCESSOR_NOT_PREBUILT(path)
    if (isUrl(path)) throw processorErrors.INVALID_HEALTH_CHECK(shownUrl(path), 'it must be the path of a file under a processor root')
    return path
  }

  async #loadUrl(spec: ProcessorSpec, url: string): Promise<LoadedProcessor> {
    const code = await this.#remote.load(url)
    // Remote code always runs in a child process, whatever the record says: a thread could access the main thread.
    return this.#isolate(spec, 'process', { locate: () => code.locate(), processor: shownUrl(url), exports: urlExports })
  }

  #isolate(
    { worker, version, concurrency }: ProcessorSpec,
    kind: SandboxCode['kind'],
    code: Pick<SandboxCode, 'locate' | 'processor' | 'exports'>,
  ) {
    return this.#sandboxes.open({ ...code, worker, version, kind, concurrency })
  }

  async #import(path: string, names: readonly string[]): Promise<(...args: never) => unknown> {
    const file = await locateProcessor(path, this.#parts.roots)
    if (file.endsWith('.ts')) {
      this.#typescript ??= registerTypescript(file)
      await this.#typescript
    }
    const late = (): Error => processorErrors.PROCESSOR_LOAD_TIMEOUT(path, loadMs)
    return withDeadline(loadExport(path, this.#parts.roots, names), loadMs, late)
  }

  async #find(spec: FoundSpec): Promise<Found> {
    const found = await this.#lookUp(spec)
    if (found === undefined) throw processorErrors.MISSING_PROCESSOR_SPEC(spec.worker)
    if (found.kind !== 'function') {
      if (this.#edge) throw processorErrors.PROCESSOR_NOT_PREBUILT(shownUrl(found.text))
    } else if (spec.isolation !== 'inline' && !found.prebuilt) {
      throw processorErrors.PROCESSOR_NOT_ISOLATED(spec.worker, spec.isolation)
    }
    return found
  }

  async #lookUp({ worker, version, processor }: FoundSpec): Promise<Found | undefined> {
    const { registry, hook } = this.#parts
    const late = `no processor of worker "${worker}" was found within ${loadMs} ms`
    const found =
      processor ?? (await withDeadline(registry.find(worker, version), loadMs, late)) ?? (hook.active ? await hook.call(worker) : undefined)
    if (found === undefined) return undefined
    if (typeof found === 'function') return { kind: 'function', run: found, prebuilt: false }
    const prebuilt = registry.prebuilt(found)
    if (prebuilt !== undefined) return { kind: 'function', run: prebuilt, prebuilt: true }
    return { kind: isUrl(found) ? 'url' : 'path', text: found }
  }
}

function inline(run: WorkerProcessor): LoadedProcessor {
  return { run, resize: () => undefined, close: () => Promise.resolve() }
}
