import type { PglitePool } from '../embedded/pool.js'
import type { ChangedJob, FlowBackend, FlowChange, FlowRefusal } from './contract.js'
import { flowFunctions } from './embedded-functions.js'

type Reply = readonly ChangedJob[] | { readonly refused: FlowRefusal; readonly child?: string }

export function embeddedFlows(pool: PglitePool): FlowBackend {
  let opening: Promise<unknown> | undefined
  /** Creates the functions on first use. */
  const run = async (call: string, ...args: readonly unknown[]): Promise<FlowChange> => {
    opening ??= pool.query(flowFunctions).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    await opening
    const { rows } = await pool.query<{ reply: Reply }>(`select ${call} as reply`, args)
    const reply = rows[0]?.reply ?? []
    return 'refused' in reply ? reply : { jobs: reply }
  }
  return {
    removeJob: (queue, id, { ended, keepsBelow = false }) => run('zin_remove($1, $2, $3, $4)', queue, id, ended, keepsBelow),
    removeBelow: async (queue, id) => (await run('zin_remove_below($1, $2)', queue, id)).jobs ?? [],
    retryJob: (queue, id, { resetAttempts = false }) => run('zin_retry($1, $2, $3)', queue, id, resetAttempts),
    async unlocked(queue, ids) {
      const { rows } = await pool.query<{ id: string }>(
        "select id from job where queue = $1 and id = any($2) and state = 'active' and locked_until_ms < $3",
        [queue, ids, Date.now()],
      )
      return rows.map(({ id }) => id)
    },
    async release(queue, id) {
      const { rowCount } = await pool.query(
        `with released as (
          update job set state = 'waiting', lock_token = null, locked_until_ms = null, stalled_marked = false,
            stalled_count = stalled_count + 1, seq = nextval('job_seq')
          where queue = $1 and id = $2 and state = 'active' and locked_until_ms < $3 returning id
        )
        select pg_notify('bullmq_jobs', $1), publish_event($1, 'waiting', jsonb_build_object('jobId', id, 'prev', 'active')) from released`,
        [queue, id, Date.now()],
      )
      return rowCount === 1
    },
    async hasten(parentKey) {
      const [queue, id] = parentKey.split(':').slice(-2)
      await pool.query(
        `with hastened as (
          update job set state = 'waiting', process_at_ms = null, seq = nextval('job_seq')
          where queue = $1 and id = $2 and state = 'delayed' and deferred_failure like 'child % failed' returning id
        )
        select pg_notify('bullmq_jobs', $1), publish_event($1, 'waiting', jsonb_build_object('jobId', id, 'prev', 'delayed')) from hastened`,
        [queue, id],
      )
    },
    async uncount(queue, id) {
      await pool.query(
        `update job set attempts_made = greatest(attempts_made - 1, 0), attempts_started = greatest(attempts_started - 1, 0)
         where queue = $1 and id = $2`,
        [queue, id],
      )
    },
  }
}
