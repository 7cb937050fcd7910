import type { Job, Processor } from 'bullmq'
import type { Clock, SlotOf } from 'zin'
import type { WorkerHooks } from '../hooks.js'
import type { JobView, WorkerProcessor } from '../types.js'
import type { Counters } from './counters.js'

/** Thrown by a processor to put its job off; an attempt that ends so is neither completed nor failed. */
const putOff = new Set(['DelayedError', 'WaitingError', 'WaitingChildrenError', 'RateLimitError'])
const rateLimited = 'bullmq:rateLimitExceeded'

/**
 * Wraps a processor with counting and `onJobStart`. The function takes exactly three arguments whatever the
 * processor takes: BullMQ can cancel a job only then.
 */
export function jobRunner(
  workerName: string,
  processor: WorkerProcessor,
  counters: Counters,
  clock: Clock,
  onJobStart: SlotOf<WorkerHooks['onJobStart']>,
): Processor {
  return async (job, token, signal) => {
    if (onJobStart.active) onJobStart.call(workerName, jobView(job, job.attemptsMade + 1))
    const begun = clock.monotonic()
    try {
      const result = await processor(job, token, signal)
      counters.completed(clock.monotonic() - begun)
      return result
    } catch (error) {
      if (!isPutOff(error)) counters.failed(clock.monotonic() - begun)
      throw error
    }
  }
}

export function jobView(job: Job, attempt: number): JobView {
  return {
    id: job.id ?? '',
    name: job.name,
    queue: job.queueName,
    data: job.data,
    attempt,
    maxAttempts: job.opts.attempts ?? 1,
    timestamp: job.timestamp,
  }
}

function isPutOff(error: unknown): boolean {
  return error instanceof Error && (putOff.has(error.name) || error.message === rateLimited)
}
