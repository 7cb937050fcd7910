import { randomUUID } from 'node:crypto'
import type { CancelRequest } from 'zin/plugins/queues'
import type { SharedState } from '../shared/state.js'

/** How long to wait for a node to confirm that it runs the job, in ms. */
const responseMs = 2_000

/** Cancels jobs that run on other nodes. */
export class Cancels {
  readonly #shared: SharedState

  constructor(shared: SharedState) {
    this.#shared = shared
  }

  /** Returns true when a node runs the job and has aborted its signal. */
  async ask(cancel: CancelRequest): Promise<boolean> {
    const request = randomUUID()
    let done: (cancelled: boolean) => void = () => undefined
    const cancelled = new Promise<boolean>((resolve) => {
      done = resolve
    })
    const unlisten = this.#shared.listen((message) => {
      if (message.kind === 'cancelled' && message.request === request) done(true)
    })
    const timer = setTimeout(done, responseMs, false)
    try {
      await this.#shared.send({ kind: 'cancel', request, ...cancel })
      return await cancelled
    } finally {
      clearTimeout(timer)
      unlisten()
    }
  }
}
