import { monitorErrors } from '../errors.js'
import type { Scope } from './scope.js'

/** Reads of one caller that run at once, and that wait. */
const atOnce = 3
const mostWaiting = 100

interface Lane {
  running: number
  readonly waiting: (() => void)[]
}

/** Lets a few expensive reads of each caller run at once, so that one caller does not keep others waiting. The rest wait in line. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()

  /** Throws MONITOR_BUSY (429) if too many reads of the caller wait already. Code of the app is not limited. */
  async run<T>({ actor: { id, kind, via } }: Pick<Scope, 'actor'>, work: () => Promise<T>): Promise<T> {
    if (kind === 'plugin') return work()
    const caller = `${kind} ${via} ${id}`
    const lane = this.#lanes.get(caller) ?? { running: 0, waiting: [] }
    this.#lanes.set(caller, lane)
    if (lane.running < atOnce) lane.running++
    else {
      if (lane.waiting.length >= mostWaiting) throw monitorErrors.MONITOR_BUSY(atOnce + mostWaiting)
      // Whoever ends passes its place on.
      await new Promise<void>((resolve) => void lane.waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = lane.waiting.shift()
      if (next !== undefined) next()
      else if (--lane.running === 0) this.#lanes.delete(caller)
    }
  }
}
