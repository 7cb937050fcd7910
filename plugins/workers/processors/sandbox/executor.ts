import type { Job } from 'bullmq'
import { messageOf } from 'zin'
import { processorErrors } from '../errors.js'
import type { ExportNames } from '../exported.js'
import type { ChildHandle } from './child-handle.js'
import { JobCallHandler, jobSnapshot } from './job-call-handler.js'
import { thrownError } from './outcome.js'
import type { FromChild } from './protocol.js'
import { toWire, type WireError } from './wire-error.js'

/** The code that an executor runs. */
export interface ExecutorCode {
  readonly worker: string
  readonly file: string
  /** Display name. */
  readonly processor: string
  readonly exports: ExportNames
  /** Whether tsx must be registered first. */
  readonly typescript: boolean
}

export interface ExecutorLimits {
  /** Deadline for loading the module, in ms. */
  readonly loadMs: number
  /** Time between aborting a job and killing it if it is still running, in ms. */
  readonly graceMs: number
}

interface CurrentJob {
  readonly run: number
  readonly id: string
  readonly calls: JobCallHandler
  readonly settle: (outcome: Promise<unknown>) => void
}

/** One thread or process with a loaded processor. Runs one job at a time. */
export class Executor {
  /** Rejects with PROCESSOR_LOAD_FAILED or INVALID_PROCESSOR_URL_EXPORT. */
  readonly ready: Promise<void>
  /** Resolves when the thread or process has ended. */
  readonly ended: Promise<void>
  readonly #child: ChildHandle
  readonly #code: ExecutorCode
  readonly #limits: ExecutorLimits
  #current: CurrentJob | undefined
  #runs = 0
  #dead = false

  constructor(child: ChildHandle, code: ExecutorCode, limits: ExecutorLimits) {
    this.#child = child
    this.#code = code
    this.#limits = limits
    this.ready = this.#load()
    this.ended = child.ended.then((how) => this.#end(how))
  }

  /** Whether it has ended or been killed, and takes no more jobs. */
  get dead(): boolean {
    return this.#dead
  }

  kill(): void {
    this.#dead = true
    this.#child.kill()
  }

  async run(job: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<unknown> {
    const run = ++this.#runs
    const id = String(job.id)
    if (this.#dead) throw processorErrors.PROCESSOR_DIED(this.#code.worker, id, this.#child.kind, 'it had already ended')
    let grace: NodeJS.Timeout | undefined
    let onAbort: (() => void) | undefined
    try {
      return await new Promise<unknown>((settle, reject) => {
        const calls = new JobCallHandler(job, (reply) => this.#child.post({ ...reply, run }))
        this.#current = { run, id, calls, settle }
        this.#child.post({ type: 'run', run, job: jobSnapshot(job), token })
        onAbort = () => {
          const reason: unknown = signal?.reason
          this.#child.post({ type: 'abort', run, reason: typeof reason === 'string' ? reason : toWire(reason) })
          grace = setTimeout(() => {
            this.kill()
            reject(processorErrors.PROCESSOR_KILLED(this.#code.worker, id, this.#child.kind, this.#limits.graceMs))
          }, this.#limits.graceMs)
        }
        if (signal?.aborted === true) onAbort()
        else signal?.addEventListener('abort', onAbort, { once: true })
      })
    } finally {
      this.#current = undefined
      clearTimeout(grace)
      if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort)
    }
  }

  async #load(): Promise<void> {
    const { file, exports, typescript, processor } = this.#code
    const { loadMs } = this.#limits
    let timer: NodeJS.Timeout | undefined
    const loaded = new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => reject(processorErrors.PROCESSOR_LOAD_FAILED(processor, why))
      timer = setTimeout(() => fail(`it did not load within ${loadMs} ms`), loadMs)
      this.#child.onMessage((message) => {
        if (message.type === 'ready') resolve()
        else if (message.type === 'unloadable') reject(this.#unloadable(message.why, message.missing))
        else this.#receive(message)
      })
      void this.#child.ended.then((how) => fail(`its ${this.#child.kind} ended: ${how}`))
    })
    this.#child.post({ type: 'load', file, exports, typescript })
    try {
      await loaded
    } catch (error) {
      this.kill()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  #unloadable(why: string, missing: boolean): Error {
    const { processor, exports } = this.#code
    const isUrl = exports.length === 1
    return missing && isUrl
      ? processorErrors.INVALID_PROCESSOR_URL_EXPORT(processor)
      : processorErrors.PROCESSOR_LOAD_FAILED(processor, why)
  }

  #receive(message: FromChild): void {
    const current = this.#current
    // A message of an earlier job.
    if (current === undefined || !('run' in message) || message.run !== current.run) return
    if (message.type === 'call') current.calls.handle(message)
    if (message.type === 'done') current.settle(resultOf(message.json))
    if (message.type === 'failed') current.settle(thrownOf(message.error))
  }

  #end(how: string): void {
    this.#dead = true
    const current = this.#current
    if (current === undefined) return
    current.settle(Promise.reject(processorErrors.PROCESSOR_DIED(this.#code.worker, current.id, this.#child.kind, how)))
  }
}

async function thrownOf(error: WireError): Promise<never> {
  throw await thrownError(error)
}

async function resultOf(json: string | undefined): Promise<unknown> {
  if (json === undefined) return undefined
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new TypeError(`the result of the job is not JSON: ${messageOf(error)}`)
  }
}
