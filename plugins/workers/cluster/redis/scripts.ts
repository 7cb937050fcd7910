import { dayMs, lostNodeMs } from '../keep.js'

/**
 * What each method does in Redis: KEYS[1] is the base of all keys, with the client's own prefix, so that keys which are made here
 * are right; ARGV[1] is the channel of messages. Leases are measured by the clock of Redis alone.
 *
 * - `<base>:revision`, `<base>:nodes` (id → end of its lease), `<base>:info` (id → JSON)
 * - `<base>:status:<node>` (worker → JSON), `<base>:running:<node>` (workers)
 * - `<base>:total:<worker>` (counts), `<base>:minutes:<worker>:<hour>` (`minute:version` → counts)
 * - `<base>:operation:<id>` (JSON), `<base>:operations:<worker>` (id → time), `<base>:lead:<role>` (node, until, epoch)
 */
const prelude = `
local base, channel = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(number) return string.format('%.0f', number) end
local nodes, info = base .. ':nodes', base .. ':info'
local function statusOf(node) return base .. ':status:' .. node end
local function runningOf(node) return base .. ':running:' .. node end
local function minutesOf(worker, hour) return base .. ':minutes:' .. worker .. ':' .. text(hour) end
local function drop(node)
  redis.call('HDEL', info, node)
  redis.call('DEL', statusOf(node), runningOf(node))
  return redis.call('ZREM', nodes, node) == 1
end
`

const script = (body: string): string => `${prelude}${body}`

/** node, info, lease in ms, message of a join → revision, now, leases, infos */
export const beat = script(`
local before = redis.call('ZSCORE', nodes, ARGV[2])
redis.call('ZADD', nodes, text(now + ARGV[4]), ARGV[2])
redis.call('HSET', info, ARGV[2], ARGV[3])
for _, key in ipairs({ statusOf(ARGV[2]), runningOf(ARGV[2]) }) do redis.call('PEXPIRE', key, text(ARGV[4] + ${lostNodeMs})) end
if not before or tonumber(before) <= now then redis.call('PUBLISH', channel, ARGV[5]) end
return {
  tonumber(redis.call('GET', base .. ':revision') or 0), now, redis.call('ZRANGE', nodes, 0, -1, 'WITHSCORES'), redis.call('HGETALL', info)
}`)

export const listNodes = script(`
return { 0, now, redis.call('ZRANGE', nodes, 0, -1, 'WITHSCORES'), redis.call('HGETALL', info) }`)

/** node, message */
export const leave = script(`
if drop(ARGV[2]) then redis.call('PUBLISH', channel, ARGV[3]) end`)

/** node, then for each status: worker, '1' when running, status, message */
export const report = script(`
local status, running = statusOf(ARGV[2]), runningOf(ARGV[2])
for i = 3, #ARGV, 4 do
  redis.call('HSET', status, ARGV[i], ARGV[i + 2])
  redis.call(ARGV[i + 1] == '1' and 'SADD' or 'SREM', running, ARGV[i])
  redis.call('PUBLISH', channel, ARGV[i + 3])
end
for _, key in ipairs({ status, running }) do
  if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, ${lostNodeMs}) end
end`)

/** node, worker, its id */
export const forget = script(`
local status = redis.call('HGET', statusOf(ARGV[2]), ARGV[3])
if status and cjson.decode(status).workerId == ARGV[4] then
  redis.call('HDEL', statusOf(ARGV[2]), ARGV[3])
  redis.call('SREM', runningOf(ARGV[2]), ARGV[3])
end`)

/** workers → for each process: id, 1 when alive, its statuses */
export const statuses = script(`
local answer = {}
local leases = redis.call('ZRANGE', nodes, 0, -1, 'WITHSCORES')
for i = 1, #leases, 2 do
  local found = {}
  for from = 2, #ARGV, 1000 do
    local values = redis.call('HMGET', statusOf(leases[i]), unpack(ARGV, from, math.min(from + 999, #ARGV)))
    for _, value in ipairs(values) do if value then found[#found + 1] = value end end
  end
  answer[#answer + 1] = { leases[i], tonumber(leases[i + 1]) > now and 1 or 0, found }
end
return answer`)

export const running = script(`
local keys = {}
for _, node in ipairs(redis.call('ZRANGEBYSCORE', nodes, '(' .. text(now), '+inf')) do keys[#keys + 1] = runningOf(node) end
if #keys == 0 then return {} end
return redis.call('SUNION', unpack(keys))`)

/** message */
export const announce = script(`
redis.call('INCR', base .. ':revision')
redis.call('PUBLISH', channel, ARGV[2])`)

/** By a script, because a cluster then takes all messages of a process by one node, in their order. */
export const send = script(`
redis.call('PUBLISH', channel, ARGV[2])`)

/** id, worker, operation */
export const saveOperation = script(`
local ids = base .. ':operations:' .. ARGV[3]
redis.call('SET', base .. ':operation:' .. ARGV[2], ARGV[4], 'PX', ${dayMs})
redis.call('ZADD', ids, text(now), ARGV[2])
redis.call('ZREMRANGEBYSCORE', ids, '-inf', text(now - ${dayMs}))
redis.call('PEXPIRE', ids, ${dayMs})`)

/** id */
export const operation = script(`
return redis.call('GET', base .. ':operation:' .. ARGV[2])`)

/** For each delta: worker, version (empty: in the totals only), completed, failed, lost, µs. A minute is one field, so that an hour stays compact in memory. */
export const count = script(`
local minute = math.floor(now / 60000)
for i = 2, #ARGV, 6 do
  local total, minutes = base .. ':total:' .. ARGV[i], minutesOf(ARGV[i], math.floor(minute / 60))
  local field = text(minute) .. ':' .. ARGV[i + 1]
  local sums = {}
  for value in string.gmatch(redis.call('HGET', minutes, field) or '0 0 0 0', '%d+') do sums[#sums + 1] = tonumber(value) end
  for j, name in ipairs({ 'completed', 'failed', 'lost', 'us' }) do
    local value = ARGV[i + 1 + j]
    redis.call('HINCRBY', total, name, value)
    sums[j] = text(sums[j] + value)
  end
  if ARGV[i + 1] ~= '' then
    redis.call('HSET', minutes, field, table.concat(sums, ' '))
    redis.call('PEXPIRE', minutes, ${dayMs + 3_600_000})
  end
end`)

/** workers → for each: completed, failed, lost, µs */
export const totals = script(`
local answer = {}
for i = 2, #ARGV do answer[i - 1] = redis.call('HMGET', base .. ':total:' .. ARGV[i], 'completed', 'failed', 'lost', 'us') end
return answer`)

/** worker, since → now, then the hours as lists of field and counts */
export const minutes = script(`
local answer = { now }
for hour = math.floor(math.max(ARGV[3], now - ${dayMs}) / 3600000), math.floor(now / 3600000) do
  answer[#answer + 1] = redis.call('HGETALL', minutesOf(ARGV[2], hour))
end
return answer`)

/** worker */
export const erase = script(`
local ids = base .. ':operations:' .. ARGV[2]
redis.call('DEL', base .. ':total:' .. ARGV[2])
local hour = math.floor(now / 3600000)
for ago = 0, 25 do redis.call('DEL', minutesOf(ARGV[2], hour - ago)) end
for _, id in ipairs(redis.call('ZRANGE', ids, 0, -1)) do redis.call('DEL', base .. ':operation:' .. id) end
redis.call('DEL', ids)
for _, node in ipairs(redis.call('ZRANGE', nodes, 0, -1)) do
  redis.call('HDEL', statusOf(node), ARGV[2])
  redis.call('SREM', runningOf(node), ARGV[2])
end`)

/** role, node, lease in ms → epoch, or nothing */
export const lead = script(`
local key = base .. ':lead:' .. ARGV[2]
local held = redis.call('HMGET', key, 'node', 'until', 'epoch')
local epoch = tonumber(held[3] or 0)
if held[1] ~= ARGV[3] then
  if tonumber(held[2] or 0) > now then return false end
  epoch = epoch + 1
end
redis.call('HSET', key, 'node', ARGV[3], 'until', text(now + ARGV[4]), 'epoch', text(epoch))
return epoch`)

/** role → epoch */
export const epochOf = script(`
return redis.call('HGET', base .. ':lead:' .. ARGV[2], 'epoch')`)

/** role, node, message */
export const resign = script(`
local key = base .. ':lead:' .. ARGV[2]
if redis.call('HGET', key, 'node') ~= ARGV[3] then return end
redis.call('HSET', key, 'node', '', 'until', '0')
redis.call('PUBLISH', channel, ARGV[4])`)

/** Everything else ends by its own expiry. */
export const sweep = script(`
for _, node in ipairs(redis.call('ZRANGEBYSCORE', nodes, '-inf', '(' .. text(now - ${lostNodeMs}))) do drop(node) end`)
