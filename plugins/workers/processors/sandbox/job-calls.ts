// Also runs in the threads and processes of processors: keep its imports light.
import { type FromChild, type JobMethod, maxCalls, type ToChild } from './protocol.js'
import { fromWire } from './wire-error.js'

type CallMessage = Omit<Extract<FromChild, { type: 'call' }>, 'run'>
type Reply = Extract<ToChild, { type: 'reply' }>

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** RPC client for the calls of one run on the real job. The number of pending calls is limited; further ones wait here. */
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

  reply({ call, value, error }: Reply): void {
    const pending = this.#end(call)
    if (error === undefined) pending?.resolve(value)
    else pending?.reject(fromWire(error))
  }

  /** Resolves once there are no pending calls. */
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
