import { setTimeout as wait } from 'node:timers/promises'
import { repeatable } from '../ask.js'
import type { ChangedJob, FlowBackend, FlowChange, Flows } from './contract.js'

export interface FlowsParts {
  /** Returns the flows of the open store. */
  readonly store: () => FlowBackend
  /** Runs a command on the store. */
  readonly ask: <T>(command: () => Promise<T>, repeat?: string) => Promise<T>
  /** Throws for an invalid queue name. */
  readonly checkName: (queue: string) => void
  readonly isJobId: (id: string) => boolean
  /** Stores that a job waits since now. */
  readonly noteReady: (job: ChangedJob) => Promise<void>
  /** Fails a waiting job, with the usual effect on its parent. Returns the jobs removed below it; undefined if it does not wait. */
  readonly fail: (queue: string, id: string, reason: string) => Promise<readonly ChangedJob[] | undefined>
}

/** A worker fails a parent within milliseconds; this is the wait between two looks, in ms, and their number. */
const busy = { everyMs: 20, looks: 100 } as const
/** A job may change its state between two commands; this bounds the repetitions. */
const mostLooks = 5

export function createFlows({ ask, checkName, fail, isJobId, noteReady, store }: FlowsParts): Flows {
  const refused: FlowChange = { refused: 'changed' }
  return {
    async retry(queue, id, options = {}) {
      checkName(queue)
      if (!isJobId(id)) return refused
      for (let look = 1; ; look++) {
        const change = await ask(() => store().retryJob(queue, id, options), repeatable)
        if (change.refused !== 'busy' || look >= busy.looks) {
          // They are retried in any case: only the time since when they wait would be missing.
          await Promise.all((change.jobs ?? []).map((job) => noteReady(job).catch(() => undefined)))
          return change
        }
        await wait(busy.everyMs)
      }
    },
    async remove(queue, id) {
      checkName(queue)
      if (!isJobId(id)) return refused
      const remove = (): Promise<FlowChange> => ask(() => store().removeJob(queue, id, { ended: true }), repeatable)
      let change = await remove()
      for (let look = 1; change.refused === 'tied' && look <= mostLooks; look++) {
        // Otherwise its parent would run without it.
        const below = await fail(queue, id, 'Deleted')
        change = await remove()
        if (below !== undefined && change.jobs !== undefined) return { jobs: [...change.jobs, ...below] }
      }
      return change
    },
  }
}
