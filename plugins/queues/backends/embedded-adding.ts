import type { JobJson } from 'bullmq'
import type { QueueBackend } from '../backend.js'
import { subjectConflict } from '../deduplication.js'
import type { PgliteClient } from '../embedded/client.js'
import type { PglitePool } from '../embedded/pool.js'

/**
 * Replaces the data of the job that a deduplication id stands for, unless it is running or has ended, and drops what was to run after it. $1
 * queue, $2 deduplication id, $3 data, $4 subject, $5 now.
 */
const replace = `
  with existing as (
    select j.id, coalesce(j.opts->>'subject', '') = $4 as same, j.state = 'active' as active
    from dedup d join job j on j.queue = d.queue and j.id = d.job_id
    where d.queue = $1 and d.dedup_id = $2 and (d.expire_at_ms is null or d.expire_at_ms > $5::bigint)
      and j.state not in ('completed', 'failed')
  ),
  replaced as (update job j set data = $3::jsonb from existing e where e.same and not e.active and j.queue = $1 and j.id = e.id),
  dropped as (delete from dedup_next n using existing e where e.same and not e.active and n.queue = $1 and n.dedup_id = $2)
  select same from existing`

const add = 'select add_job($1, $2, $3, $4::jsonb, $5::jsonb, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as id'

/** The part of BullMQ that adds a job; it runs one statement, whose parameters it computes. */
interface Adder {
  addJob(
    this: { readonly queueName: string; run(command: string, values: readonly unknown[]): Promise<unknown> },
    job: JobJson,
    id: string,
  ): Promise<string>
}

/** What adding jobs to the embedded store takes besides BullMQ. */
export function embeddedAdding(pool: PglitePool): Pick<QueueBackend, 'addReplacing' | 'additions' | 'dropNext'> {
  return {
    addReplacing: (queue, job, id) =>
      transaction(pool, async (client) => {
        const { deduplication, subject = '' } = job.opts as { readonly deduplication?: { readonly id: string }; readonly subject?: string }
        const { rows } = await client.query(replace, [queue.name, deduplication?.id ?? '', job.data, subject, job.timestamp])
        if ((rows[0] as { readonly same: boolean } | undefined)?.same === false) throw subjectConflict(queue.name)
        const run = (_command: string, values: readonly unknown[]) => client.query(add, values)
        return (queue.getBackend() as unknown as Adder).addJob.call({ queueName: queue.name, run }, job, id)
      }),
    async dropNext(queue, deduplicationId) {
      await pool.query('delete from dedup_next where queue = $1 and dedup_id = $2', [queue.name, deduplicationId])
    },
    async additions(queue, ids) {
      const { rows } = await pool.query<{ id: string; addition: string | null }>(
        "select id, opts->>'addition' as addition from job where queue = $1 and id = any($2)",
        [queue.name, ids],
      )
      return new Map(rows.map(({ addition, id }) => [id, addition ?? '']))
    },
  }
}

async function transaction<T>(pool: PglitePool, work: (client: PgliteClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } finally {
    client.release()
  }
}
