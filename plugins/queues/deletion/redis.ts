import type { RedisClient } from 'zin/plugins/redis'
import {
  type DeletedJob,
  type DeleteOutcome,
  type DeletionBackend,
  erased,
  exactly,
  mostAnchors,
  mostDeleted,
  stepJobs,
  type UndoOptions,
} from './contract.js'
import { countStepScript } from './redis-count.js'
import { claimScript, deleteOneScript, deleteStepScript, forgetScript, listScript, restoreStepScript, usedScript } from './redis-scripts.js'

/** BullMQ's keys of each state, in the order in which their jobs run. */
const keysOf = {
  waiting: ['wait', 'paused', 'prioritized'],
  delayed: ['delayed'],
  'waiting-children': ['waiting-children'],
  completed: ['completed'],
  failed: ['failed'],
} as const
const allKeys = ['completed', 'failed', 'delayed', 'prioritized', 'wait', 'paused']

/** Jobs per step of a count, which takes Redis about 3 ms. */
const countedJobs = 500

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
  const lengthOf = (queue: string, list: string): Promise<number> => {
    const key = `${prefix}:${queue}:${list}`
    return list === 'wait' || list === 'paused' ? redis.llen(key) : redis.zcard(key)
  }
  const deletingArgs = (undo: UndoOptions | undefined) => [undo?.batch ?? '', undo?.ms ?? 0, mostDeleted.jobs, mostDeleted.bytes]

  return {
    async deleteJob(queue, id, undo) {
      return (await run(deleteOneScript, queue, undo.batch, [...deletingArgs(undo), id, ...allKeys])) as DeleteOutcome
    },
    async *deleteJobs(queue, { before, exceptFailing = false, maxAttempts, state }, undo) {
      const attempts = maxAttempts ?? Number.MAX_SAFE_INTEGER
      for (const list of keysOf[state]) {
        const length = await lengthOf(queue, list)
        let after: readonly string[] = []
        // Jobs that are added in the meantime end no earlier than the walk does.
        for (let looked = 0; looked < 2 * length + stepJobs; ) {
          const args = [...deletingArgs(undo), list, stepJobs, before, attempts, 1, exceptFailing ? 1 : 0, ...after]
          const [all = 0, deleted = 0, restorable = 0, tied = 0, ...stay] = (await run(
            deleteStepScript,
            queue,
            undo?.batch ?? '',
            args,
          )) as (number | string)[]
          const step = { looked: Number(all), deleted: Number(deleted), restorable: Number(restorable), tied: Number(tied) }
          if (step.looked === 0) break
          yield step
          looked += step.looked
          after = [...after, ...stay.map(String)].slice(-mostAnchors)
        }
      }
    },
    async *countJobs(queue, { before, maxAttempts, state }, room, { parents: asksParents = false, sample }) {
      let left = room
      for (const list of keysOf[state]) {
        const length = await lengthOf(queue, list)
        let after: readonly string[] = []
        for (let looked = 0; looked < 2 * length + countedJobs; ) {
          const numbers = [Math.max(0, left.jobs), Math.max(0, left.bytes), sample, asksParents ? 1 : 0]
          const attempts = maxAttempts ?? Number.MAX_SAFE_INTEGER
          const args = [...deletingArgs(undefined), list, countedJobs, before, attempts, numbers.length, ...numbers, ...after]
          const reply = (await run(countStepScript, queue, '', args)) as (number | string)[]
          const [all = 0, free = 0, freeFailing = 0, flow = 0, flowFailing = 0, scheduled = 0, restorable = 0, bytes = 0, ...lengths] =
            reply.slice(0, 10).map(Number)
          if (all === 0) break
          looked += all
          left = { jobs: left.jobs - restorable, bytes: left.bytes - bytes }
          const [sampled = 0, found = 0] = lengths
          const names = reply.slice(10).map(String)
          after = names.slice(sampled + found)
          const ids = names.slice(0, sampled)
          const parents = names.slice(sampled, sampled + found)
          yield { free, freeFailing, flow, flowFailing, scheduled, restorable, bytes, ids, parents }
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
      const { data, failedReason, finishedOn, name, opts, parentKey, progress, returnvalue, timestamp } = await redis.hgetall(key)
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
        parentKey: parentKey || undefined,
      }
    },
    async forget(queue, jobs) {
      if (jobs.length === 0) return []
      const args = jobs.flatMap(({ addedAt = '', id }) => [id, addedAt])
      return (await run(forgetScript, queue, '', args)) as string[]
    },
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
      const [at, exact] = await redis.zmscore(`${indexKey(queue)}:erased`, id, exactly(id, addedAt))
      return (exact ?? null) !== null || ((at ?? null) !== null && addedAt <= Number(at) + erased.leewayMs)
    },
    // Redis expires the keys itself.
    expire: () => Promise.resolve(),
  }
}
