import type { Job } from 'bullmq'
import { messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'

/** A job in an export, decrypted. Times are ISO 8601, null when unset. */
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

/** Lines of a log in an export. */
const logLines = 1_000

/** Undefined: the job is gone. */
export async function exportedJob(queues: Queues, queue: string, id: string): Promise<ExportedJob | undefined> {
  const found = await queues.job(queue, id)
  if (found === undefined) return undefined
  const { job, state } = found
  const readable = (value: Promise<unknown>): Promise<unknown> => value.catch((error: unknown) => `(${messageOf(error)})`)
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

function finishedAt({ finishedOn }: Job): string | null {
  return finishedOn ? new Date(finishedOn).toISOString() : null
}
