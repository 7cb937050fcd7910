import type { Job } from 'bullmq'
import { messageOf, type Tsx } from 'zin'
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
  /** tsx, if it must be registered first. */
  readonly tsx: Tsx | undefined
}

export interface ExecutorLimits {
  /** Deadline for loading the module, in ms. */
  readonly loadMs: number
  /** Time between aborting a job and killing it if it is still running, in ms. */
  readonly graceMs: number
}

/** Code of a job that failed, or ended its thread or process, after the job had ended. */
export interface LateError {
  readonly job: string
  readonly message: string
}

/** How many runs of a thread or process are remembered, to name the job of a late error. */
const mostRemembered = 1_000
/** Deadline for a thread or process to say what a job left behind, in ms: the code of the job may block it. */
const restMs = 2_000

interface CurrentJob {
  readonly run: number
  readonly id: string
  readonly calls: JobCallHandler
  readonly settle: (outcome: Promise<unknown>) => void
}

/** One thread or process with a loaded processor. Runs one job at a time. */
export class Executor {
  /** Rejects with PROCESSOR_LOAD_FAILED, PROCESSOR_LOAD_TIMEOUT or INVALID_PROCESSOR_URL_EXPORT. */
  readonly ready: Promise<void>
  /** Resolves when the thread or process has ended. */
  readonly ended: Promise<void>
  readonly #child: ChildHandle
  readonly #code: ExecutorCode
  readonly #limits: ExecutorLimits
  /** Ids of jobs, by run. */
  readonly #jobs = new Map<number, string>()
  #current: CurrentJob | undefined
  #resting: ((left: readonly string[]) => void) | undefined
  /** What the last run that has said so left behind. */
  #rested: { readonly run: number; readonly left: readonly string[] } | undefined
  #late: LateError | undefined
  #fatal: { readonly run: number | undefined; readonly message: string } | undefined
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

  /** Set if it has ended because of the code of a job that had ended before. */
  get late(): LateError | undefined {
    return this.#late
  }

  kill(why?: string): void {
    this.#dead = true
    this.#child.kill(why)
  }

  /** Resolves to what the last job left behind, once that is known; it takes no more jobs then unless that is nothing. */
  async rest(): Promise<readonly string[]> {
    const left = this.#dead ? [] : this.#rested?.run === this.#runs ? this.#rested.left : await this.#nextRest()
    if (left.length > 0) this.kill()
    return left
  }

  async run(job: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<unknown> {
    const run = ++this.#runs
    const id = String(job.id)
    if (this.#dead) throw processorErrors.PROCESSOR_DIED(this.#code.worker, id, this.#child.kind, 'it had already ended')
    let grace: NodeJS.Timeout | undefined
    let onAbort: (() => void) | undefined
    try {
      return await new Promise<unknown>((settle, reject) => {
        const calls = new JobCallHandler(
          job,
          (reply) => this.#child.post({ ...reply, run }),
          (why) => this.kill(why),
        )
        this.#current = { run, id, calls, settle }
        this.#remember(run, id)
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

  async #nextRest(): Promise<readonly string[]> {
    let timer: NodeJS.Timeout | undefined
    const left = await new Promise<readonly string[]>((resolve) => {
      this.#resting = resolve
      timer = setTimeout(() => resolve([`code that blocks the ${this.#child.kind}`]), restMs)
    })
    clearTimeout(timer)
    this.#resting = undefined
    return left
  }

  async #load(): Promise<void> {
    const { file, exports, tsx, processor } = this.#code
    const { loadMs } = this.#limits
    let timer: NodeJS.Timeout | undefined
    const loaded = new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(processorErrors.PROCESSOR_LOAD_TIMEOUT(processor, loadMs)), loadMs)
      this.#child.onMessage((message) => {
        if (message.type === 'ready') resolve()
        else if (message.type === 'unloadable') reject(this.#unloadable(message.why, message.missing))
        else this.#receive(message)
      })
      const { ended, kind } = this.#child
      void ended.then((how) => reject(processorErrors.PROCESSOR_LOAD_FAILED(processor, `its ${kind} ended: ${how}`)))
    })
    this.#child.post({ type: 'load', file, exports, tsx })
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

  #rest(message: { readonly run: number; readonly left: readonly string[] }): void {
    if (message.run !== this.#runs) return
    this.#rested = message
    this.#resting?.(message.left)
  }

  #remember(run: number, id: string): void {
    this.#jobs.set(run, id)
    this.#jobs.delete(run - mostRemembered)
  }

  #receive(message: FromChild): void {
    if (message.type === 'fatal') this.#fatal ??= { run: message.run, message: message.error.message }
    if (message.type === 'rest') this.#rest(message)
    const current = this.#current
    // A message of an earlier job.
    if (current === undefined || !('run' in message) || message.run !== current.run) return
    if (message.type === 'call') current.calls.handle(message)
    if (message.type === 'done') current.settle(resultOf(message.json))
    if (message.type === 'failed') current.settle(thrownOf(message.error))
  }

  #end(how: string): void {
    this.#dead = true
    this.#resting?.([])
    const current = this.#current
    const { message = '', run } = this.#fatal ?? {}
    if (run !== undefined && run !== current?.run) this.#late = { job: this.#jobs.get(run) ?? 'unknown', message }
    if (current === undefined) return
    const { worker } = this.#code
    const error =
      this.#late === undefined
        ? processorErrors.PROCESSOR_DIED(worker, current.id, this.#child.kind, how)
        : processorErrors.PROCESSOR_INTERRUPTED(worker, current.id, this.#child.kind, this.#late.job)
    current.settle(Promise.reject(error))
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
