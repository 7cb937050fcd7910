import { dayMs } from '../keep.js'

/**
 * The scripts of the methods. KEYS[1] is the base of all keys, including the prefix of the client, so that scripts can build further keys.
 *
 * - `<base>:reporters` (nodes), `<base>:status:<node>` (worker → JSON), `<base>:running:<node>` (workers)
 * - `<base>:revision`, `<base>:changes` (worker → revision)
 * - `<base>:total:<worker id>` (counts), `<base>:minutes:<worker id>:<hour>` (`minute:version` → counts); older releases used the name
 * - `<base>:operation:<id>` (JSON), `<base>:operations:<worker id>` (id → time)
 */
const prelude = `
local base = KEYS[1]
local reporters, revision, changes = base .. ':reporters', base .. ':revision', base .. ':changes'
local function text(number) return string.format('%.0f', number) end
local function statusOf(node) return base .. ':status:' .. node end
local function runningOf(node) return base .. ':running:' .. node end
local function minutesOf(worker, hour) return base .. ':minutes:' .. worker .. ':' .. text(hour) end
local function drop(node)
  redis.call('DEL', statusOf(node), runningOf(node))
  redis.call('SREM', reporters, node)
end
`
const timed = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

const script = (body: string): string => `${prelude}${body}`

/** node, then per status: worker, '1' if running, status */
export const report = script(`
local status, running = statusOf(ARGV[1]), runningOf(ARGV[1])
for i = 2, #ARGV, 3 do
  redis.call('HSET', status, ARGV[i], ARGV[i + 2])
  redis.call(ARGV[i + 1] == '1' and 'SADD' or 'SREM', running, ARGV[i])
end
redis.call('SADD', reporters, ARGV[1])`)

/** node, worker, its id */
export const forget = script(`
local status = redis.call('HGET', statusOf(ARGV[1]), ARGV[2])
if status and cjson.decode(status).workerId == ARGV[3] then
  redis.call('HDEL', statusOf(ARGV[1]), ARGV[2])
  redis.call('SREM', runningOf(ARGV[1]), ARGV[2])
end`)

/** node */
export const forgetNode = script(`
drop(ARGV[1])`)

/** workers → per node: id, its statuses */
export const statuses = script(`
local reply = {}
for _, node in ipairs(redis.call('SMEMBERS', reporters)) do
  local found = {}
  for from = 1, #ARGV, 1000 do
    local values = redis.call('HMGET', statusOf(node), unpack(ARGV, from, math.min(from + 999, #ARGV)))
    for _, value in ipairs(values) do if value then found[#found + 1] = value end end
  end
  if #found > 0 then reply[#reply + 1] = { node, found } end
end
return reply`)

/** nodes → workers */
export const running = script(`
local keys = {}
for _, node in ipairs(ARGV) do keys[#keys + 1] = runningOf(node) end
if #keys == 0 then return {} end
return redis.call('SUNION', unpack(keys))`)

/** Maximum number of workers whose last change is kept. */
const kept = 10_000

/** worker → revision */
export const change = script(`
local next = redis.call('INCR', revision)
redis.call('ZADD', changes, next, ARGV[1])
redis.call('ZREMRANGEBYRANK', changes, 0, -${kept + 1})
return next`)

/** node, since, limit → revision, 1 if the node has reported, changes (worker, revision, …) */
export const news = script(`
local current = tonumber(redis.call('GET', revision) or 0)
local found = {}
if current ~= tonumber(ARGV[2]) then
  found = redis.call('ZRANGEBYSCORE', changes, '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
end
return { current, redis.call('EXISTS', statusOf(ARGV[1])), found }`)

/** id, id of its worker, operation */
export const saveOperation = script(`${timed}
local ids = base .. ':operations:' .. ARGV[2]
redis.call('SET', base .. ':operation:' .. ARGV[1], ARGV[3], 'PX', ${dayMs})
redis.call('ZADD', ids, text(now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', ids, '-inf', text(now - ${dayMs}))
redis.call('PEXPIRE', ids, ${dayMs})`)

/** id */
export const operation = script(`
return redis.call('GET', base .. ':operation:' .. ARGV[1])`)

/**
 * Per delta: worker, version (empty: only in the totals), completed, failed, lost, µs, timed out, cancelled, run times as
 * `bucket:attempts …`. A minute is one field, `<completed> <failed> <lost> <µs> <timed out> <cancelled>;<run times>`, so that an hour
 * stays compact in memory. Totals and minutes of older releases have only the first four counts.
 */
export const count = script(`${timed}
local names = { 'completed', 'failed', 'lost', 'us', 'timedOut', 'cancelled' }
local minute = math.floor(now / 60000)
for i = 1, #ARGV, 9 do
  for j, name in ipairs(names) do
    if j == 1 or ARGV[i + 1 + j] ~= '0' then redis.call('HINCRBY', base .. ':total:' .. ARGV[i], name, ARGV[i + 1 + j]) end
  end
  if ARGV[i + 1] ~= '' then
    local minutes, field = minutesOf(ARGV[i], math.floor(minute / 60)), text(minute) .. ':' .. ARGV[i + 1]
    local known = redis.call('HGET', minutes, field) or ';'
    local sums, times, parts = {}, {}, {}
    for value in string.gmatch(string.match(known, '^[^;]*'), '%d+') do sums[#sums + 1] = value end
    for j = 1, #names do sums[j] = text((sums[j] or 0) + ARGV[i + 1 + j]) end
    for _, list in ipairs({ string.match(known, ';.*'), ARGV[i + 8] }) do
      for bucket, attempts in string.gmatch(list, '(%d+):(%d+)') do times[bucket] = (times[bucket] or 0) + attempts end
    end
    for bucket, attempts in pairs(times) do parts[#parts + 1] = bucket .. ':' .. text(attempts) end
    redis.call('HSET', minutes, field, table.concat(sums, ' ') .. ';' .. table.concat(parts, ' '))
    redis.call('PEXPIRE', minutes, ${dayMs + 3_600_000})
  end
end`)

/** workers → per worker: completed, failed, lost, µs, timed out, cancelled */
export const totals = script(`
local reply = {}
for i = 1, #ARGV do
  reply[i] = redis.call('HMGET', base .. ':total:' .. ARGV[i], 'completed', 'failed', 'lost', 'us', 'timedOut', 'cancelled')
end
return reply`)

/** since, workers → per worker: `minute:version`, counts, … */
export const minutes = script(`${timed}
local from = math.max(ARGV[1], now - ${dayMs})
local reply = {}
for i = 2, #ARGV do
  local found = {}
  for hour = math.floor(from / 3600000), math.floor(now / 3600000) do
    local fields = redis.call('HGETALL', minutesOf(ARGV[i], hour))
    for j = 1, #fields, 2 do
      if string.match(fields[j], '^%d+') * 60000 >= from then
        found[#found + 1] = fields[j]
        found[#found + 1] = fields[j + 1]
      end
    end
  end
  reply[i - 1] = found
end
return reply`)

/** worker, its id */
export const erase = script(`${timed}
local ids = base .. ':operations:' .. ARGV[2]
local hour = math.floor(now / 3600000)
for _, worker in ipairs(ARGV) do
  redis.call('DEL', base .. ':total:' .. worker)
  for ago = 0, 25 do redis.call('DEL', minutesOf(worker, hour - ago)) end
end
for _, id in ipairs(redis.call('ZRANGE', ids, 0, -1)) do redis.call('DEL', base .. ':operation:' .. id) end
redis.call('DEL', ids)
for _, node in ipairs(redis.call('SMEMBERS', reporters)) do
  local status = redis.call('HGET', statusOf(node), ARGV[1])
  if status and cjson.decode(status).workerId == ARGV[2] then
    redis.call('HDEL', statusOf(node), ARGV[1])
    redis.call('SREM', runningOf(node), ARGV[1])
  end
end`)

/** known nodes; all other keys expire by themselves */
export const sweep = script(`
local known = {}
for _, node in ipairs(ARGV) do known[node] = true end
for _, node in ipairs(redis.call('SMEMBERS', reporters)) do if not known[node] then drop(node) end end`)
