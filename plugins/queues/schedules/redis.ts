import type { RedisClient } from 'zin/plugins/redis'
import type { ScheduleBackend } from './contract.js'
import { policyKey } from './timing.js'

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

/** KEYS: the key prefix of the queue. The running jobs that were taken last come first. Returns -1 if none has a lock. */
const lockLeftScript = `
local left = -1
for _, id in ipairs(redis.call('LRANGE', KEYS[1] .. 'active', 0, 999)) do
  left = math.max(left, redis.call('PTTL', KEYS[1] .. id .. ':lock'))
end
return left`

/**
 * KEYS: the key prefix of the queue. ARGV: the first and the last position, when a run is overdue, now. The last run is the next one if that has
 * ended, else the one that it follows.
 */
const faultsScript = `
local call, base = redis.call, KEYS[1]
local late, now = tonumber(ARGV[3]), tonumber(ARGV[4])
local overdue, failed = {}, {}
local page = call('ZRANGE', base .. 'repeat', ARGV[1], ARGV[2], 'WITHSCORES')
for i = 1, #page, 2 do
  local key, next = page[i], page[i + 1]
  if tonumber(next) <= late then
    local f = call('HMGET', base .. 'repeat:' .. key, 'limit', 'ic', 'endDate', 'name')
    local ended = (f[1] and tonumber(f[2] or '0') >= tonumber(f[1])) or (f[3] and tonumber(f[3]) <= now)
    if f[4] and not ended then overdue[#overdue + 1] = { key, next } end
  end
  local run = 'repeat:' .. key .. ':' .. next
  local at = call('ZSCORE', base .. 'failed', run)
  if not at then
    local parsed, opts = pcall(cjson.decode, call('HGET', base .. run, 'opts') or '{}')
    local policy = parsed and type(opts) == 'table' and opts['${policyKey}']
    run = type(policy) == 'table' and policy['follows']
    at = type(run) == 'string' and call('ZSCORE', base .. 'failed', run)
  end
  if at then failed[#failed + 1] = { key, run, at } end
end
return { overdue, failed, call('ZCARD', base .. 'repeat') }`

type FaultsReply = readonly [
  overdue: readonly (readonly [key: string, next: string])[],
  failed: readonly (readonly [key: string, id: string, at: string])[],
  total: number,
]

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
    async lockLeft(queue) {
      const left = Number(await redis.eval(lockLeftScript, 1, keyOf(queue, '')))
      return left < 0 ? undefined : left
    },
    async faults(queue, { from, limit, now, overdue }) {
      const reply = await redis.eval(faultsScript, 1, keyOf(queue, ''), from, from + limit - 1, overdue, now)
      const [late, failed, total] = reply as FaultsReply
      return {
        overdue: late.map(([key, next]) => ({ key, next: Number(next) })),
        failed: failed.map(([key, id, at]) => ({ key, id, at: Number(at) })),
        total,
      }
    },
  }
}
