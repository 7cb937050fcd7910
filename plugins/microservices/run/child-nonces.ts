import { storeUnavailable } from 'zin'
import type { TakeNonce } from '../auth/contract.js'
import type { NonceAsked, NonceTaken } from './child-protocol.js'

/** Claims nonces for a service in a child process. The app stores them, together with those of its other processes. */
export class ChildNonces {
  readonly #ask: (asked: NonceAsked) => void
  readonly #waiting = new Map<number, (taken: NonceTaken) => void>()
  #last = 0

  constructor(ask: (asked: NonceAsked) => void) {
    this.#ask = ask
  }

  readonly take: TakeNonce = async (_service, claim) => {
    const id = ++this.#last
    const { failed, why } = await new Promise<NonceTaken>((resolve) => {
      this.#waiting.set(id, resolve)
      this.#ask({ type: 'nonce', id, claim })
    })
    if (failed !== undefined) throw storeUnavailable(new Error(failed))
    return why
  }

  taken(taken: NonceTaken): void {
    this.#waiting.get(taken.id)?.(taken)
    this.#waiting.delete(taken.id)
  }
}
