import { randomUUID } from 'node:crypto'
import type { CancelRequest } from 'zin/plugins/queues'
import type { SharedState } from '../shared/state.js'

/** How long the other processes have to say that they run the job, in ms. */
const answerMs = 2_000

/** Cancels jobs that run in other processes. */
export class Cancels {
  readonly #shared: SharedState

  constructor(shared: SharedState) {
    this.#shared = shared
  }

  /** True when a process runs the job and has aborted its signal. */
  async ask(cancel: CancelRequest): Promise<boolean> {
    const request = randomUUID()
    let done: (answered: boolean) => void = () => undefined
    const answered = new Promise<boolean>((resolve) => {
      done = resolve
    })
    const unlisten = this.#shared.listen((message) => {
      if (message.kind === 'cancelled' && message.request === request) done(true)
    })
    const timer = setTimeout(done, answerMs, false)
    try {
      await this.#shared.send({ kind: 'cancel', request, ...cancel })
      return await answered
    } finally {
      clearTimeout(timer)
      unlisten()
    }
  }
}
