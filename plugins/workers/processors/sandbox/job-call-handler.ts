import type { Job } from 'bullmq'
import { type FromChild, type JobFields, jobFields, maxCalls, type ToChild } from './protocol.js'
import { toWire } from './wire-error.js'

type Call = Extract<FromChild, { type: 'call' }>
type Reply = Omit<Extract<ToChild, { type: 'reply' }>, 'run'>

/** Returns the fields of a job that its processor receives. */
export function jobSnapshot(job: Job): JobFields {
  return Object.fromEntries(jobFields.map((field) => [field, job[field]]))
}

/** RPC server for the calls that an isolated processor makes on its job. */
export class JobCallHandler {
  readonly #job: Job
  readonly #reply: (reply: Reply) => void
  #open = 0

  constructor(job: Job, reply: (reply: Reply) => void) {
    this.#job = job
    this.#reply = reply
  }

  /** Never throws. */
  handle({ call, method, args }: Call): void {
    void this.#do(method, args).then(
      (value) => this.#reply({ type: 'reply', call, value }),
      (error: unknown) => this.#reply({ type: 'reply', call, error: toWire(error) }),
    )
  }

  async #do(method: Call['method'], args: Call['args']): Promise<unknown> {
    // Only for code that bypasses its job object.
    if (this.#open >= maxCalls) throw new TypeError(`a job has more than ${maxCalls} pending calls`)
    this.#open++
    try {
      const work = this.#job[method] as (...args: readonly unknown[]) => unknown
      const value: unknown = await work.apply(this.#job, [...args])
      // Only JSON can be sent to every kind of child.
      return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
    } finally {
      this.#open--
    }
  }
}
