import type { Job } from 'bullmq'
import { messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'

/** A decrypted job in an export. Times are ISO 8601, null if unset. */
export interface ExportedJob {
  readonly queue: string
  readonly id: string
  readonly name: string
  readonly state: string
  readonly data: unknown
  readonly result: unknown
  readonly error: string | null
  readonly progress: unknown
  readonly logs: readonly string[]
  readonly createdAt: string
  readonly finishedAt: string | null
}

/** Maximum number of log lines per job. */
const logLines = 1_000

/** Returns a job for the export; undefined if it no longer exists and cannot be restored. */
export async function exportedJob(queues: Queues, queue: string, id: string): Promise<ExportedJob | undefined> {
  const found = await queues.job(queue, id)
  if (found === undefined) return exportedDeletedJob(queues, queue, id)
  const { job, state } = found
  return {
    queue,
    id,
    name: job.name,
    state,
    data: (await readable(queues.restoredData(job))) ?? null,
    result: state === 'completed' ? ((await readable(queues.restoredResult(job))) ?? null) : null,
    error: job.failedReason || null,
    progress: (job.progress as unknown) ?? null,
    logs: (await queues.logs(queue, id, { offset: 0, limit: logLines })).logs,
    createdAt: new Date(job.timestamp).toISOString(),
    finishedAt: finishedAt(job),
  }
}

/** Returns a deleted job that can still be restored. */
async function exportedDeletedJob(queues: Queues, queue: string, id: string): Promise<ExportedJob | undefined> {
  const job = await queues.deletedJob(queue, id)
  if (job === undefined) return undefined
  const { error, finishedAt: ended, logs, name, progress, result, timestamp } = job
  return {
    queue,
    id,
    name,
    state: 'deleted',
    data: (await readable(queues.restoredData(job))) ?? null,
    result: (await readable(queues.restoredResult({ queueName: queue, returnvalue: result }))) ?? null,
    error: error === null ? null : await queues.restoredText(queue, error, 'error'),
    progress: (await readable(queues.restoredData({ queueName: queue, data: progress }))) ?? null,
    logs: await Promise.all(logs.slice(0, logLines).map((line) => queues.restoredText(queue, line, 'log'))),
    createdAt: new Date(timestamp).toISOString(),
    finishedAt: ended === null ? null : new Date(ended).toISOString(),
  }
}

/** Resolves to the value, or to the reason why it cannot be restored. */
function readable(value: Promise<unknown>): Promise<unknown> {
  return value.catch((error: unknown) => `(${messageOf(error)})`)
}

function finishedAt({ finishedOn }: Job): string | null {
  return finishedOn ? new Date(finishedOn).toISOString() : null
}
