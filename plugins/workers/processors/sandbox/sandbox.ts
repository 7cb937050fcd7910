import type { Job } from 'bullmq'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import { processorErrors } from '../errors.js'
import type { LoadedProcessor } from '../processor.js'
import type { ChildOptions } from './child-handle.js'
import { Executor, type ExecutorCode, type ExecutorLimits } from './executor.js'
import { OutputLog } from './output.js'
import { startProcess } from './process.js'
import { startThread } from './thread.js'

export interface SandboxOptions extends ChildOptions {
  readonly kind: 'thread' | 'process'
  readonly code: Omit<ExecutorCode, 'file'>
  /** Returns the path of the processor; called before each start of a thread or process. */
  readonly locate: () => Promise<string>
  readonly concurrency: number
  readonly limits: ExecutorLimits
  /** How long an idle thread or process is kept, in ms. */
  readonly idleMs: number
  readonly clock: Clock
  readonly log: Logger
}

interface Waiter {
  readonly resolve: (executor: Executor) => void
  readonly reject: (error: unknown) => void
}

/** How long to wait for killed threads and processes to end, in ms. Blocking native code can delay the end of a thread. */
const endMs = 2_000

/** Runs a processor in threads or processes: as many as there are jobs, at most the concurrency, and at least one. */
export class Sandbox implements LoadedProcessor {
  readonly #options: SandboxOptions
  readonly #output: OutputLog
  /** Executors that have not ended yet. */
  readonly #alive = new Set<Executor>()
  readonly #ready = new Set<Executor>()
  /** Idle since, monotonic clock, ms; longest idle first. */
  readonly #idle = new Map<Executor, number>()
  readonly #waiters: Waiter[] = []
  #starting = 0
  /** Number of executors whose last job has ended, and which may be free in a moment. */
  #resting = 0
  /** Whether a job has left something behind. */
  #left = false
  #concurrency: number
  #sweep: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: SandboxOptions) {
    this.#options = options
    this.#concurrency = Math.max(1, options.concurrency)
    this.#output = new OutputLog(options.log)
  }

  /** Starts the first thread or process. Rejects if the processor does not load. */
  async warm(): Promise<void> {
    this.#release(await this.#take(undefined))
  }

  readonly run = async (job: Job, token?: string, signal?: AbortSignal): Promise<unknown> => {
    const executor = await this.#take(signal)
    try {
      return await executor.run(job, token, signal)
    } finally {
      void this.#rest(executor, String(job.id))
    }
  }

  /** Waits until it is known whether another job can run there. */
  async #rest(executor: Executor, job: string): Promise<void> {
    this.#resting++
    const left = await executor.rest()
    this.#resting--
    if (left.length > 0) {
      const { code, kind, log } = this.#options
      // Once per sandbox: it would be one line per job.
      log[this.#left ? 'debug' : 'warn'](
        { job, left },
        `a job of worker "${code.worker}" left something running, so its ${kind} runs no other job; end it in the job, or open it when the module loads`,
      )
      this.#left = true
    }
    this.#release(executor)
  }

  /** Number of threads or processes, including those that are starting. */
  get size(): number {
    return this.#ready.size + this.#starting
  }

  resize(concurrency: number): void {
    this.#concurrency = Math.max(1, concurrency)
    for (const executor of this.#idle.keys()) {
      if (this.size <= this.#concurrency) break
      this.#drop(executor)
    }
    this.#pump()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#sweep)
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#closedError())
    for (const executor of this.#alive) executor.kill()
    const ended = Promise.all([...this.#alive].map((executor) => executor.ended))
    try {
      await withDeadline(ended, endMs, `some did not end within ${endMs} ms`)
    } catch (error) {
      const children = this.#options.kind === 'thread' ? 'threads' : 'processes'
      this.#options.log.warn(`the ${children} of worker "${this.#options.code.worker}" were killed, but ${messageOf(error)}`)
    }
    this.#output.close()
  }

  async #take(signal: AbortSignal | undefined): Promise<Executor> {
    if (this.#closed) throw this.#closedError()
    if (signal?.aborted === true) throw reasonOf(signal)
    let onAbort = (): void => undefined
    const taken = new Promise<Executor>((resolve, reject) => {
      const waiter: Waiter = { resolve, reject }
      onAbort = () => {
        const index = this.#waiters.indexOf(waiter)
        if (index >= 0) this.#waiters.splice(index, 1)
        if (signal !== undefined) reject(reasonOf(signal))
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiters.push(waiter)
      this.#pump()
    })
    try {
      return await taken
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #release(executor: Executor): void {
    if (executor.dead) this.#ready.delete(executor)
    else if (this.#closed || this.size > this.#concurrency) this.#drop(executor)
    else this.#idle.set(executor, this.#options.clock.monotonic())
    this.#pump()
    this.#planSweep()
  }

  /** Assigns idle executors to waiting jobs, and starts further ones if needed. */
  #pump(): void {
    while (this.#waiters.length > 0 && this.#idle.size > 0) {
      // The most recently used one, so that the others stay idle and can be ended.
      const executor = [...this.#idle.keys()].at(-1) as Executor
      this.#idle.delete(executor)
      this.#waiters.shift()?.resolve(executor)
    }
    while (!this.#closed && this.#starting + this.#resting < this.#waiters.length && this.size < this.#concurrency) void this.#start()
  }

  async #start(): Promise<void> {
    this.#starting++
    try {
      const executor = this.#begin(await this.#options.locate())
      await executor.ready
      this.#starting--
      this.#ready.add(executor)
      this.#release(executor)
    } catch (error) {
      this.#starting--
      this.#waiters.shift()?.reject(error)
      this.#pump()
    }
  }

  #begin(file: string): Executor {
    if (this.#closed) throw this.#closedError()
    const { kind, code, limits, log } = this.#options
    const child = (kind === 'thread' ? startThread : startProcess)(this.#options)
    this.#output.follow(child.stdout, child.stderr)
    const executor = new Executor(child, { ...code, file }, limits)
    this.#alive.add(executor)
    void executor.ended.then(() => {
      const { late } = executor
      if (late !== undefined)
        log.warn(late, `code of a job of worker "${code.worker}" failed after the job had ended, so its ${kind} ended`)
      this.#alive.delete(executor)
      this.#ready.delete(executor)
      this.#idle.delete(executor)
      this.#pump()
    })
    return executor
  }

  #drop(executor: Executor): void {
    this.#ready.delete(executor)
    this.#idle.delete(executor)
    executor.kill()
  }

  #planSweep(): void {
    const { clock, idleMs } = this.#options
    if (this.#closed || this.#sweep !== undefined || this.#idle.size === 0 || this.#ready.size <= 1) return
    this.#sweep = setTimeout(() => {
      this.#sweep = undefined
      const before = clock.monotonic() - idleMs
      for (const [executor, since] of this.#idle) {
        if (since <= before && this.#ready.size > 1) this.#drop(executor)
      }
      this.#planSweep()
    }, idleMs).unref()
  }

  #closedError(): Error {
    return processorErrors.PROCESSOR_CLOSED(this.#options.code.worker)
  }
}

/** The abort reason as an error, because BullMQ only fails jobs with errors. */
function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
