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
  readonly #kill: (why: string) => void
  #open = 0

  /** @param kill ends the child: its code bypasses its job object, and floods this process. */
  constructor(job: Job, reply: (reply: Reply) => void, kill: (why: string) => void) {
    this.#job = job
    this.#reply = reply
    this.#kill = kill
  }

  /** Never throws. */
  handle({ call, method, args }: Call): void {
    if (this.#open >= maxCalls) {
      this.#kill(`its code made more than ${maxCalls} pending calls on its job`)
      return
    }
    void this.#do(method, args).then(
      (value) => this.#reply({ type: 'reply', call, value }),
      (error: unknown) => this.#reply({ type: 'reply', call, error: toWire(error) }),
    )
  }

  async #do(method: Call['method'], args: Call['args']): Promise<unknown> {
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
