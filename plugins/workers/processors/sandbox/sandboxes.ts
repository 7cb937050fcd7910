import { type Clock, type Logger, locateTsx } from 'zin'
import { processorErrors } from '../errors.js'
import type { ExportNames } from '../exported.js'
import type { LoadedProcessor } from '../processor.js'
import { childEntry, type Entry } from './entry.js'
import { sandboxEnvironment } from './environment.js'
import { Sandbox } from './sandbox.js'

export interface SandboxesOptions {
  readonly clock: Clock
  readonly log: Logger
  /** `NODE_ENV` of the processors. */
  readonly environment: string
  /** Default 256. */
  readonly memoryMb: number | undefined
  readonly loadMs: number
}

export interface SandboxCode {
  readonly worker: string
  readonly version: string
  readonly kind: 'thread' | 'process'
  readonly concurrency: number
  /** Display name of the code. */
  readonly processor: string
  readonly exports: ExportNames
  readonly locate: () => Promise<string>
}

const graceMs = 2_000
const idleMs = 30_000

/** All sandboxes of a host. */
export class Sandboxes {
  readonly #options: SandboxesOptions
  readonly #open = new Set<Sandbox>()
  #entry: Entry | undefined
  #closed = false

  constructor(options: SandboxesOptions) {
    this.#options = options
  }

  async open({ worker, version, kind, concurrency, processor, exports, locate }: SandboxCode): Promise<LoadedProcessor> {
    const { clock, log, environment, memoryMb = 256, loadMs } = this.#options
    this.#entry ??= childEntry()
    // Decided by the real path, because the path may be a symbolic link.
    const file = this.#entry.tsx === undefined ? await locate() : ''
    const tsx = file.endsWith('.ts') ? locateTsx(file) : undefined
    if (this.#closed) throw processorErrors.PROCESSOR_CLOSED(worker)
    const sandbox = new Sandbox({
      kind,
      entry: this.#entry,
      env: sandboxEnvironment(environment),
      memoryMb,
      code: { worker, processor, exports, tsx },
      locate,
      concurrency,
      limits: { loadMs, graceMs },
      idleMs,
      clock,
      log: log.child({ worker, version }),
    })
    this.#open.add(sandbox)
    const close = async (): Promise<void> => {
      await sandbox.close()
      this.#open.delete(sandbox)
    }
    try {
      await sandbox.warm()
    } catch (error) {
      await close()
      throw error
    }
    return { run: sandbox.run, resize: (jobs) => sandbox.resize(jobs), close }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#open].map((sandbox) => sandbox.close()))
    this.#open.clear()
  }
}
