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

/** A Lua function: whether a run has begun, from the fields `atm` and `stc` of its job. One that only waited for another has not. */
export const hasBegunFunction = `
local function hasBegun(attempts, stalls) return tonumber(attempts or '0') > 0 or tonumber(stalls or '0') > 0 end`

/** KEYS: the key prefix of the queue. ARGV: the id of the schedule. BullMQ removes only a delayed run, also one that waits for a retry. */
const removeScript = `${hasBegunFunction}
local call, base = redis.call, KEYS[1]
local due = call('ZSCORE', base .. 'repeat', ARGV[1])
if due then
  local run = 'repeat:' .. ARGV[1] .. ':' .. due
  local facts = call('HMGET', base .. run, 'atm', 'stc')
  local from
  if not hasBegun(facts[1], facts[2]) then
    for _, key in ipairs({ 'delayed', 'prioritized' }) do if call('ZREM', base .. key, run) == 1 then from = key end end
    for _, key in ipairs({ 'wait', 'paused' }) do if not from and call('LREM', base .. key, 1, run) == 1 then from = key end end
  end
  if from then
    call('UNLINK', base .. run, base .. run .. ':logs')
    call('XADD', base .. 'events', 'MAXLEN', '~', call('HGET', base .. 'meta', 'opts.maxLenEvents') or 10000, '*',
      'event', 'removed', 'jobId', run, 'prev', from)
  end
end
call('DEL', base .. 'repeat:' .. ARGV[1])
return call('ZREM', base .. 'repeat', ARGV[1])`

/**
 * KEYS: the deduplication, the key prefix of the queue. ARGV: the id of the job, ms or ''. BullMQ has stored the deduplication id with the job. A
 * job that no longer exists holds an id only until its time is over; of one that a worker took nevertheless, BullMQ has stored when.
 */
const holdScript = `
local holder = redis.call('GET', KEYS[1])
local isLost = holder and redis.call('PTTL', KEYS[1]) == -1 and redis.call('HEXISTS', KEYS[2] .. holder, 'name') == 0
if holder and holder ~= ARGV[1] and not isLost then return holder end
if ARGV[2] == '' then redis.call('SET', KEYS[1], ARGV[1]) else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return false`

export function redisSchedules(redis: RedisClient, prefix: string): ScheduleBackend {
  const keyOf = (queue: string, key: string): string => `${prefix}:${queue}:${key}`
  return {
    async drop(queue, id, token) {
      const keys = [id, `${id}:lock`, 'active', 'stalled', 'events', 'meta'].map((key) => keyOf(queue, key))
      return (await redis.eval(dropScript, keys.length, ...keys, id, token)) === 1
    },
    remove: async (queue, id) => (await redis.eval(removeScript, 1, keyOf(queue, ''), id)) === 1,
    async holdDeduplication(queue, id, { id: name, ttl }) {
      const keys = [keyOf(queue, `de:${name}`), keyOf(queue, '')]
      const holder = await redis.eval(holdScript, keys.length, ...keys, id, ttl === undefined ? '' : String(ttl))
      return typeof holder === 'string' ? holder : undefined
    },
  }
}
