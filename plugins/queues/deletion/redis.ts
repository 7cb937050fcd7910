import type { RedisClient } from 'zin/plugins/redis'
import {
  type DeletedJob,
  type DeletedStep,
  type DeleteOutcome,
  type DeletionBackend,
  erased,
  mostDeleted,
  stepJobs,
  type UndoOptions,
} from './contract.js'
import { claimScript, deleteOneScript, deleteStepScript, forgetScript, listScript, restoreStepScript, usedScript } from './redis-scripts.js'

/** BullMQ's keys of each state, in the order in which their jobs run. */
const keysOf = {
  waiting: ['wait', 'paused', 'prioritized'],
  delayed: ['delayed'],
  completed: ['completed'],
  failed: ['failed'],
} as const
const allKeys = ['completed', 'failed', 'delayed', 'prioritized', 'wait', 'paused']
/** Maximum passes over a list whose jobs move during a pass. */
const mostWalks = 3

/** The key of the hash of a deleted job. */
export const deletedKey = (prefix: string, queue: string, id: string): string => `${prefix}-deleted:${queue}:${id}`

/**
 * Deletes and restores jobs by renaming keys, whose cost does not depend on their size. The hash, log and children of a deleted job keep
 * their stored form under names that BullMQ does not use, until they expire.
 *
 * @param prefix of the keys of all queues.
 */
export function redisDeletion(redis: RedisClient, prefix: string): DeletionBackend {
  const indexKey = (queue: string): string => `${prefix}-deletions:${queue}`
  const run = (script: string, queue: string, batch: string, args: readonly (string | number)[]): Promise<unknown> => {
    const index = indexKey(queue)
    const keys = [
      `${prefix}:${queue}:`,
      deletedKey(prefix, queue, ''),
      index,
      `${index}:bytes`,
      `${index}:batch:${batch}`,
      `${index}:erased`,
    ]
    return redis.eval(script, keys.length, ...keys, ...args)
  }
  const deletingArgs = (undo: UndoOptions | undefined) => [undo?.batch ?? '', undo?.ms ?? 0, mostDeleted.jobs, mostDeleted.bytes]

  return {
    async deleteJob(queue, id, undo) {
      return (await run(deleteOneScript, queue, undo.batch, [...deletingArgs(undo), id, ...allKeys])) as DeleteOutcome
    },
    async *deleteJobs(queue, { before, maxAttempts, state }, undo) {
      const attempts = maxAttempts ?? Number.MAX_SAFE_INTEGER
      for (const list of keysOf[state]) {
        for (let walks = 0; walks < mostWalks; walks++) {
          let [skipped, deleted] = [0, 0]
          const key = `${prefix}:${queue}:${list}`
          const length = await (list === 'wait' || list === 'paused' ? redis.llen(key) : redis.zcard(key))
          // Ignores jobs that are added in the meantime.
          for (let looked = 0; looked < length; ) {
            const args = [...deletingArgs(undo), list, stepJobs, skipped, before, attempts]
            const step = stepOf(await run(deleteStepScript, queue, undo?.batch ?? '', args))
            yield walks === 0 ? step : { ...step, tied: 0 }
            if (step.looked === 0) break
            looked += step.looked
            deleted += step.deleted
            skipped += step.looked - step.deleted
          }
          // Jobs that workers took from the list have shifted the skipped ones: pass over it again.
          if (skipped === 0 || deleted === 0) break
        }
      }
    },
    async *restoreJobs(queue, batch) {
      for (let skipped = 0; ; ) {
        const reply = await run(restoreStepScript, queue, batch, [batch, stepJobs, skipped])
        const [looked = 0, restored = 0, blocked = 0] = reply as number[]
        if (looked === 0) return
        skipped += blocked
        yield { restored, blocked }
      }
    },
    async undoRoom(queue) {
      const [jobs = 0, bytes = 0] = (await run(usedScript, queue, '', [])) as number[]
      return { jobs: Math.max(0, mostDeleted.jobs - jobs), bytes: Math.max(0, mostDeleted.bytes - bytes) }
    },
    async deletedJobs(queue, { limit, offset }) {
      const ids = limit < 1 ? [] : ((await run(listScript, queue, '', [offset, limit])) as string[])
      const found = await Promise.all(ids.map((id) => redis.hmget(deletedKey(prefix, queue, id), 'data', 'opts', 'timestamp')))
      return found.flatMap(([data, opts, timestamp], i): readonly DeletedJob[] => {
        // It has expired.
        if (!data || !opts || !timestamp) return []
        const id = ids[i] ?? ''
        return [{ id, queueName: queue, data: JSON.parse(data), opts: JSON.parse(opts), timestamp: Number(timestamp) }]
      })
    },
    async deletedJob(queue, id) {
      const key = deletedKey(prefix, queue, id)
      const { data, failedReason, finishedOn, name, opts, progress, returnvalue, timestamp } = await redis.hgetall(key)
      if (data === undefined || opts === undefined) return undefined
      return {
        id,
        queueName: queue,
        name: name ?? '',
        data: JSON.parse(data),
        opts: JSON.parse(opts),
        result: returnvalue === undefined ? undefined : JSON.parse(returnvalue),
        progress: progress === undefined ? undefined : JSON.parse(progress),
        error: failedReason || null,
        logs: await redis.lrange(`${key}:logs`, 0, -1),
        timestamp: Number(timestamp),
        finishedAt: finishedOn === undefined ? null : Number(finishedOn),
      }
    },
    forget: async (queue, ids) => (ids.length === 0 ? [] : ((await run(forgetScript, queue, '', ids)) as string[])),
    async claim(queue, jobs) {
      if (jobs.length === 0) return []
      return (await run(
        claimScript,
        queue,
        '',
        jobs.flatMap(({ addedAt, id }) => [id, addedAt]),
      )) as string[]
    },
    async isErased(queue, id, addedAt) {
      const at = await redis.zscore(`${indexKey(queue)}:erased`, id)
      return at !== null && addedAt <= Number(at) + erased.leewayMs
    },
    // Redis expires the keys itself.
    expire: () => Promise.resolve(),
  }
}

function stepOf(reply: unknown): DeletedStep {
  const [looked = 0, deleted = 0, restorable = 0, tied = 0] = reply as number[]
  return { looked, deleted, restorable, tied }
}
