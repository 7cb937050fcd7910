import type { IQueueBackend, JobJson } from 'bullmq'
import type { RedisClient } from 'zin/plugins/redis'
import type { QueueBackend } from '../backend.js'
import { subjectConflict } from '../deduplication.js'
import { readyKey } from '../ready.js'

/**
 * Replaces the data of the job that a deduplication id stands for, unless it is running or has ended, and drops what was to run after it. Returns
 * 0 if it is about another subject. KEYS: the deduplication, what is to run next, the running jobs, the delayed ones. ARGV: the key prefix of jobs,
 * the data, the subject, when a delayed job becomes ready if it is put off.
 */
const replaceScript = `
local call = redis.call
local id = call('GET', KEYS[1])
if not id then return 1 end
local job = ARGV[1] .. id
local stored = call('HMGET', job, 'opts', 'finishedOn')
if not stored[1] or stored[2] then return 1 end
local parsed, opts = pcall(cjson.decode, stored[1])
if ((parsed and opts['subject']) or '') ~= ARGV[3] then return 0 end
if call('LPOS', KEYS[3], id) then return 1 end
call('HSET', job, 'data', ARGV[2])
if ARGV[4] ~= '' and parsed and call('ZSCORE', KEYS[4], id) then
  opts['${readyKey}'] = tonumber(ARGV[4])
  call('HSET', job, 'opts', cjson.encode(opts))
end
call('DEL', KEYS[2])
return 1`

/** BullMQ's own way of adding jobs within a transaction. */
interface Adder extends IQueueBackend {
  addJobToTransaction(multi: unknown, job: JobJson, id: string): Promise<unknown>
  readonly client: Promise<{ multi(): Multi }>
}

interface Multi {
  eval(...args: readonly (string | number)[]): unknown
  exec(): Promise<readonly (readonly [error: Error | null, reply: unknown])[] | null>
}

interface ReplacingOptions {
  readonly deduplication?: { readonly id: string; readonly reschedule?: boolean }
  readonly delay?: number
  readonly subject?: string
}

/** What adding jobs to Redis takes besides BullMQ. */
export function redisAdding(redis: RedisClient): Pick<QueueBackend, 'addReplacing' | 'additions' | 'dropNext'> {
  return {
    async addReplacing(queue, job, id) {
      const { deduplication, delay = 0, subject = '' } = job.opts as ReplacingOptions
      const of = deduplication?.id ?? ''
      const backend = queue.getBackend() as unknown as Adder
      const multi = (await backend.client).multi()
      const keys = [`de:${of}`, `dn:${of}`, 'active', 'delayed'].map((key) => queue.toKey(key))
      const due = deduplication?.reschedule === true ? job.timestamp + delay : ''
      multi.eval(replaceScript, keys.length, ...keys, queue.toKey(''), job.data, subject, due)
      await backend.addJobToTransaction(multi, job, id)
      const [replaced, added] = (await multi.exec()) ?? []
      const error = replaced?.[0] ?? added?.[0]
      if (error) throw error
      if (replaced?.[1] === 0) throw subjectConflict(queue.name)
      return String(added?.[1])
    },
    async dropNext(queue, deduplicationId) {
      await redis.del(queue.toKey(`dn:${deduplicationId}`))
    },
    async additions(queue, ids) {
      const pipeline = redis.pipeline()
      for (const id of ids) pipeline.hget(queue.toKey(id), 'opts')
      const replies = (await pipeline.exec()) ?? []
      return new Map(
        replies.flatMap(([error, opts], i) => {
          if (error) throw error
          const { addition } = JSON.parse((opts as string | null) ?? '{}') as { readonly addition?: string }
          return opts === null ? [] : [[ids[i] ?? '', addition ?? '']]
        }),
      )
    },
  }
}
