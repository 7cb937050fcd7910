import type { Job } from 'bullmq'
import { type Logger, messageOf, ZinError } from 'zin'
import { isCancelReason, type Queues } from 'zin/plugins/queues'

/** Maximum number of waiting jobs in a dead letter queue; further ones are only in the failed list. */
const mostWaiting = 10_000

/** How a job that failed through its child repeats the error of the child. */
const errorOfChild = /\bchild ([\w.-]{1,100}:[^\s:]{1,200}) failed: [\s\S]*$/

function deadLetterQueueOf(queue: string): string {
  return `${queue}-dead`
}

export interface DeadLetterParts {
  readonly worker: string
  readonly queues: Queues
  readonly log: Logger
}

/**
 * Adds a permanently failed job to the dead letter queue of its queue, with its history. A job is added once, even if it is retried by
 * hand and fails again; a cancelled job is not added, nor one that is purged meanwhile. Never rejects; errors are logged.
 */
export async function keepDeadLetter(job: Job, parts: DeadLetterParts): Promise<void> {
  const { log, worker } = parts
  const facts = { worker, job: job.id, queue: deadLetterQueueOf(job.queueName) }
  const left = `a failed job of worker "${worker}" is only in the failed list`
  try {
    if (!(await add(job, parts))) log.warn(facts, `${left}: its dead letter queue is full`)
  } catch (error) {
    log.error({ ...facts, err: error }, `${left}: ${messageOf(error)}`)
  }
}

/** Returns false when the queue is full. */
async function add(job: Job, { worker, queues }: DeadLetterParts): Promise<boolean> {
  if (isCancelReason(job.failedReason)) return true
  const queue = deadLetterQueueOf(job.queueName)
  if ((await queues.counts(queue)).waiting >= mostWaiting) return false
  // Whoever sees the dead letter queue does not have to see the queue of a child, and nobody erases its error here with the child.
  const shown = (text: string): string =>
    queues.views.error(text, { sees: (name) => name === job.queueName }).replace(errorOfChild, 'child $1 failed')
  const letter = {
    worker,
    queue: job.queueName,
    id: job.id,
    name: job.name,
    data: job.data,
    options: job.opts,
    attempts: job.attemptsMade,
    stalls: job.stalledCounter,
    error: shown(job.failedReason),
    addedAt: new Date(job.timestamp).toISOString(),
    failedAt: new Date(job.finishedOn ?? 0).toISOString(),
  }
  // Unlike the ids that BullMQ generates, and different for a later job with the same id.
  const options = { jobId: `${job.id?.replaceAll(':', '_')}-${job.timestamp}`, attempts: 1 }
  const write = async (): Promise<Job> => {
    try {
      return await queues.add(queue, job.name, { ...letter, stacktrace: job.stacktrace?.map(shown) ?? null }, options)
    } catch (error) {
      if (!(error instanceof ZinError) || error.code !== 'PAYLOAD_TOO_LARGE') throw error
      return queues.add(queue, job.name, letter, options)
    }
  }
  const source = { queue: job.queueName, id: job.id ?? '', addedAt: job.timestamp }
  await queues.copy(source, write, ({ id = '' }) => queues.purge(queue, [id]))
  return true
}
