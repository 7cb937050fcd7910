import type { Chain } from '../chain.js'
import type { AuditEntry } from '../entry.js'
import { type Checkpoint, checkpointOf } from './checkpoint.js'

/** Makes the checkpoints of the chain of a process, with the times that show later whether retention deleted its entries too early. */
export class Checkpoints {
  readonly #days: number
  #last: { readonly chain: number; readonly at: number } | undefined

  /** @param days for which entries are kept. */
  constructor(days: number) {
    this.#days = days
  }

  /** @param entries the last ones of the chain, new since the checkpoint before. */
  next(chain: Chain, entries: readonly AuditEntry[]): Checkpoint {
    const before = this.#last?.chain === chain.chain ? this.#last.at : 0
    let [oldest, newest] = [Number.POSITIVE_INFINITY, before]
    for (const { at } of entries) {
      oldest = Math.min(oldest, at)
      newest = Math.max(newest, at)
    }
    this.#last = { chain: chain.chain, at: newest }
    const fresh = { after: chain.entries - entries.length, since: oldest, days: this.#days }
    return { ...checkpointOf(chain), lastAt: newest, ...(entries.length === 0 ? {} : { fresh }) }
  }
}
