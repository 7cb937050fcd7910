import { setTimeout as wait } from 'node:timers/promises'
import type { Job } from 'bullmq'
import type { DeletedJob, ListedState, Queues } from 'zin/plugins/queues'

export interface WalkOptions {
  readonly queues: Queues
  readonly queue: string
  readonly signal: AbortSignal
  /** Pause after every 100 jobs in ms, so that a walk over a million jobs does not overload the store. Default 50. */
  readonly pauseMs?: number
  /** Reads the states in the reverse order. Default false. */
  readonly reverse?: boolean
}

/** Jobs per step: each may be as large as a job can be. */
const atOnce = 25
const pauseEvery = 100
/** In the order in which most jobs change state, so that a job that does so during the walk is visited again rather than missed. */
const states: readonly ListedState[] = ['waiting-children', 'delayed', 'waiting', 'active', 'failed', 'completed']

/**
 * Yields the jobs of a queue in steps. A job that changes state against the order of the walk, such as one that is retried, is missed, and jobs
 * that leave a list shift it, so others are missed, too. Callers that need every job repeat the walk, in both orders in turn, until one of each
 * finds nothing to do.
 */
export async function* walk({
  pauseMs = 50,
  queue,
  queues,
  reverse = false,
  signal,
}: WalkOptions): AsyncGenerator<readonly Job[], void, undefined> {
  for (const state of reverse ? states.toReversed() : states) {
    for (let offset = 0; !signal.aborted; offset += atOnce) {
      const jobs = await queues.list(queue, state, { offset, limit: atOnce })
      if (jobs.length > 0) yield jobs
      if (jobs.length < atOnce) break
      if ((offset + atOnce) % pauseEvery === 0) await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** Yields deleted jobs of a queue that can still be restored, in steps. */
export async function* walkDeleted({
  queue,
  queues,
  signal,
}: Omit<WalkOptions, 'pauseMs' | 'reverse'>): AsyncGenerator<readonly DeletedJob[], void, undefined> {
  for (let offset = 0; !signal.aborted; offset += atOnce) {
    const jobs = await queues.deletedJobs(queue, { offset, limit: atOnce })
    if (jobs.length === 0) return
    yield jobs
  }
}
