import type { Job } from 'bullmq'
import { type FromChild, type JobFields, jobFields, jobMethods, maxCalls, type ToChild } from './protocol.js'
import { toWire } from './wire-error.js'

type Call = Extract<FromChild, { type: 'call' }>
type Answer = Omit<Extract<ToChild, { type: 'answer' }>, 'run'>

/** The fields of a job that its processor sees. */
export function jobSnapshot(job: Job): JobFields {
  return Object.fromEntries(jobFields.map((field) => [field, job[field]]))
}

/** Answers the calls that an isolated processor makes on its job. */
export class JobCallHandler {
  readonly #job: Job
  readonly #answer: (answer: Answer) => void
  #open = 0

  constructor(job: Job, answer: (answer: Answer) => void) {
    this.#job = job
    this.#answer = answer
  }

  /** Never throws. */
  handle({ call, method, args }: Call): void {
    void this.#do(method, args).then(
      (value) => this.#answer({ type: 'answer', call, value }),
      (error: unknown) => this.#answer({ type: 'answer', call, error: toWire(error) }),
    )
  }

  async #do(method: unknown, args: unknown): Promise<unknown> {
    const known = jobMethods.find((candidate) => candidate === method)
    // Only code that goes around its job object gets here.
    if (known === undefined || !Array.isArray(args)) throw new TypeError('a job has no such method')
    if (this.#open >= maxCalls) throw new TypeError(`more than ${maxCalls} calls of one job wait for an answer`)
    this.#open++
    try {
      const work = this.#job[known] as (...args: readonly unknown[]) => unknown
      const value: unknown = await work.apply(this.#job, args)
      // What cannot be copied to the other side is no answer to a processor.
      return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
    } finally {
      this.#open--
    }
  }
}
