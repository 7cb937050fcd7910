// Also runs in the threads and processes of processors: it may import nothing that is heavy.
import { type FromChild, type JobMethod, maxCalls, type ToChild } from './protocol.js'
import { fromWire } from './wire-error.js'

type CallMessage = Omit<Extract<FromChild, { type: 'call' }>, 'run'>
type Answer = Extract<ToChild, { type: 'answer' }>

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Calls of one run to the real job: a few at a time, so that a flood of them stays where it comes from. */
export class JobCalls {
  readonly #send: (call: CallMessage) => void
  readonly #pending = new Map<number, Pending>()
  readonly #waiting: (() => void)[] = []
  #last = 0
  #whenSettled: (() => void) | undefined

  constructor(send: (call: CallMessage) => void) {
    this.#send = send
  }

  call(method: JobMethod, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        const call = ++this.#last
        this.#pending.set(call, { resolve, reject })
        try {
          this.#send({ type: 'call', call, method, args })
        } catch (error) {
          this.#end(call)
          reject(error)
        }
      }
      if (this.#pending.size < maxCalls) begin()
      else this.#waiting.push(begin)
    })
  }

  answer({ call, value, error }: Answer): void {
    const pending = this.#end(call)
    if (error === undefined) pending?.resolve(value)
    else pending?.reject(fromWire(error))
  }

  /** Resolves once every call so far has its answer. */
  async settled(): Promise<void> {
    if (this.#pending.size > 0) await new Promise<void>((resolve) => (this.#whenSettled = resolve))
  }

  #end(call: number): Pending | undefined {
    const pending = this.#pending.get(call)
    this.#pending.delete(call)
    this.#waiting.shift()?.()
    if (this.#pending.size === 0) this.#whenSettled?.()
    return pending
  }
}
