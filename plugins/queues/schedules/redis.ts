import type { RedisClient } from 'zin/plugins/redis'
import type { ScheduleBackend } from './contract.js'

/** KEYS: the job, its lock, the running jobs, the stalled jobs, the events, the settings of the queue. ARGV: the id of the job, the token. */
const dropScript = `
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('LREM', KEYS[3], 1, ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[1] .. ':logs')
redis.call('XADD', KEYS[5], 'MAXLEN', '~', redis.call('HGET', KEYS[6], 'opts.maxLenEvents') or 10000, '*',
  'event', 'removed', 'jobId', ARGV[1], 'prev', 'active')
return 1`

/** KEYS: the deduplication. ARGV: the id of the job, ms or ''. BullMQ has stored the deduplication id with the job. */
const holdScript = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return holder end
if ARGV[2] == '' then redis.call('SET', KEYS[1], ARGV[1]) else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return false`

export function redisSchedules(redis: RedisClient, prefix: string): ScheduleBackend {
  const keyOf = (queue: string, key: string): string => `${prefix}:${queue}:${key}`
  return {
    async drop(queue, id, token) {
      const keys = [id, `${id}:lock`, 'active', 'stalled', 'events', 'meta'].map((key) => keyOf(queue, key))
      return (await redis.eval(dropScript, keys.length, ...keys, id, token)) === 1
    },
    async holdDeduplication(queue, id, { id: name, ttl }) {
      const holder = await redis.eval(holdScript, 1, keyOf(queue, `de:${name}`), id, ttl === undefined ? '' : String(ttl))
      return typeof holder === 'string' ? holder : undefined
    },
  }
}
