import type { Job } from 'bullmq'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import { workerErrors } from '../../errors.js'
import type { LoadedProcessor } from '../processor.js'
import { Member, type MemberCode, type MemberLimits } from './member.js'
import { OutputLog } from './output.js'
import { startProcess } from './process.js'
import { startThread } from './thread.js'
import type { VehicleOptions } from './vehicle.js'

export interface SandboxOptions extends VehicleOptions {
  readonly kind: 'thread' | 'process'
  readonly code: Omit<MemberCode, 'file'>
  /** The file of the processor, asked for before each start. */
  readonly locate: () => Promise<string>
  readonly concurrency: number
  readonly limits: MemberLimits
  /** How long one more thread or process than needed is kept, in ms. */
  readonly idleMs: number
  readonly clock: Clock
  readonly log: Logger
}

interface Waiter {
  readonly resolve: (member: Member) => void
  readonly reject: (error: unknown) => void
}

/** How long the end of killed threads and processes is waited for, in ms. Native code that blocks can put off a thread's. */
const endMs = 2_000

/** Runs a processor in threads or processes: as many as jobs need, at most the concurrency, and one that stays warm. */
export class Sandbox implements LoadedProcessor {
  readonly #options: SandboxOptions
  readonly #output: OutputLog
  /** Everything that has not ended yet. */
  readonly #alive = new Set<Member>()
  readonly #ready = new Set<Member>()
  /** The longest idle one first. */
  readonly #idle = new Map<Member, number>()
  readonly #waiters: Waiter[] = []
  #starting = 0
  #concurrency: number
  #sweep: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: SandboxOptions) {
    this.#options = options
    this.#concurrency = Math.max(1, options.concurrency)
    this.#output = new OutputLog(options.log)
  }

  /** Starts the first thread or process, and rejects when the processor does not load. */
  async warm(): Promise<void> {
    this.#release(await this.#take(undefined))
  }

  readonly run = async (job: Job, token?: string, signal?: AbortSignal): Promise<unknown> => {
    const member = await this.#take(signal)
    try {
      return await member.run(job, token, signal)
    } finally {
      this.#release(member)
    }
  }

  /** Threads or processes there are. */
  get size(): number {
    return this.#ready.size + this.#starting
  }

  resize(concurrency: number): void {
    this.#concurrency = Math.max(1, concurrency)
    for (const member of this.#idle.keys()) {
      if (this.size <= this.#concurrency) break
      this.#drop(member)
    }
    this.#pump()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#sweep)
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#closedError())
    for (const member of this.#alive) member.kill()
    const ended = Promise.all([...this.#alive].map((member) => member.ended))
    try {
      await withDeadline(ended, endMs, `some did not end within ${endMs} ms`)
    } catch (error) {
      this.#options.log.warn(`the ${this.#options.kind}s of worker "${this.#options.code.worker}" were killed: ${messageOf(error)}`)
    }
    this.#output.close()
  }

  async #take(signal: AbortSignal | undefined): Promise<Member> {
    if (this.#closed) throw this.#closedError()
    if (signal?.aborted === true) throw reasonOf(signal)
    let onAbort = (): void => undefined
    const taken = new Promise<Member>((resolve, reject) => {
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

  #release(member: Member): void {
    if (member.dead) this.#ready.delete(member)
    else if (this.#closed || this.size > this.#concurrency) this.#drop(member)
    else this.#idle.set(member, this.#options.clock.monotonic())
    this.#pump()
    this.#planSweep()
  }

  /** Gives idle members to those who wait, and starts what is missing. */
  #pump(): void {
    while (this.#waiters.length > 0 && this.#idle.size > 0) {
      // The one that was busy last, so that others can be ended.
      const member = [...this.#idle.keys()].at(-1) as Member
      this.#idle.delete(member)
      this.#waiters.shift()?.resolve(member)
    }
    while (!this.#closed && this.#starting < this.#waiters.length && this.size < this.#concurrency) void this.#start()
  }

  async #start(): Promise<void> {
    this.#starting++
    try {
      const member = this.#begin(await this.#options.locate())
      await member.ready
      this.#starting--
      this.#ready.add(member)
      this.#release(member)
    } catch (error) {
      this.#starting--
      this.#waiters.shift()?.reject(error)
      this.#pump()
    }
  }

  #begin(file: string): Member {
    if (this.#closed) throw this.#closedError()
    const { kind, code, limits } = this.#options
    const vehicle = (kind === 'thread' ? startThread : startProcess)(this.#options)
    this.#output.follow(vehicle.stdout, vehicle.stderr)
    const member = new Member(vehicle, { ...code, file }, limits)
    this.#alive.add(member)
    void member.ended.then(() => {
      this.#alive.delete(member)
      this.#ready.delete(member)
      this.#idle.delete(member)
      this.#pump()
    })
    return member
  }

  #drop(member: Member): void {
    this.#ready.delete(member)
    this.#idle.delete(member)
    member.kill()
  }

  #planSweep(): void {
    const { clock, idleMs } = this.#options
    if (this.#closed || this.#sweep !== undefined || this.#idle.size === 0 || this.#ready.size <= 1) return
    this.#sweep = setTimeout(() => {
      this.#sweep = undefined
      const before = clock.monotonic() - idleMs
      for (const [member, since] of this.#idle) {
        if (since <= before && this.#ready.size > 1) this.#drop(member)
      }
      this.#planSweep()
    }, idleMs).unref()
  }

  #closedError(): Error {
    return workerErrors.PROCESSOR_CLOSED(this.#options.code.worker)
  }
}

/** Whatever cancels a job: BullMQ fails jobs with errors only. */
function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
