import type { Clock, Manage } from 'zin'
import { workerErrors } from '../errors.js'
import type { KnownNode } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import { waitUntil } from './wait-until.js'

export interface DrainsParts {
  readonly shared: SharedState
  readonly clock: Clock
  readonly manage: Manage
}

/** How long to wait until a node has published that it drains, in ms. */
const answerMs = 5_000

/** Makes nodes drain: they take no new jobs, and finish the running ones. A node drains until that is undone or its process ends. */
export class Drains {
  readonly #parts: DrainsParts

  constructor(parts: DrainsParts) {
    this.#parts = parts
  }

  /** Throws NODE_NOT_FOUND, or NODE_NOT_ANSWERING if the node has not published the change in time. */
  async set(id: string, draining: boolean): Promise<KnownNode> {
    const { clock, manage, shared } = this.#parts
    const before = await this.#find(id)
    const verb = draining ? 'drain' : 'undrain'
    return manage(
      { action: `node.${verb}`, target: `node:${id}`, before: { draining: before.draining }, after: { draining } },
      async () => {
        let isSent = false
        const node = await waitUntil(
          async () => {
            const found = await this.#find(id)
            // Also if nothing seems to change: the node may be about to publish the opposite. Sent again with each look, because a message
            // may be lost.
            if (!isSent || found.draining !== draining) await shared.send({ kind: 'drain', node: id, draining })
            isSent = true
            return found
          },
          (found) => found.draining === draining,
          { shared, clock, waitMs: answerMs, concerns: () => false },
        )
        if (node.draining !== draining) throw workerErrors.NODE_NOT_ANSWERING(id, answerMs)
        return node
      },
    )
  }

  async #find(id: string): Promise<KnownNode> {
    const node = (await this.#parts.shared.nodes()).find((one) => one.id === id)
    if (node?.alive !== true) throw workerErrors.NODE_NOT_FOUND(id, node !== undefined)
    return node
  }
}
