import { hasBegunFunction } from '../schedules/redis.js'

/** KEYS[1] of all scripts: the prefix of the keys of all queues. ARGV[1], ARGV[2]: queue and id. They return a `FlowChange`. */
const shared = `
local call, prefix, queue, id = redis.call, KEYS[1], ARGV[1], ARGV[2]
local base = prefix .. queue .. ':'
local changed = {}
local clock = call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local ordered = { 'waiting-children', 'delayed', 'prioritized' }
local lists = { 'wait', 'paused' }

-- The key prefix of the queue of a job, and its id.
local function split(key)
  local colon = string.find(key, ':', #prefix + 1, true)
  return string.sub(key, 1, colon), string.sub(key, colon + 1)
end

local function tell(of, event, ...)
  call('XADD', of .. 'events', 'MAXLEN', '~', call('HGET', of .. 'meta', 'opts.maxLenEvents') or 10000, '*', 'event', event, ...)
end

-- Takes a job from where it waits; returns the name of that key, or nil if it does not wait.
local function take(of, job)
  if call('EXISTS', of .. job .. ':lock') == 1 or call('HEXISTS', of .. job, 'finishedOn') == 1 then return nil end
  for _, key in ipairs(ordered) do if call('ZREM', of .. key, job) == 1 then return key end end
  for _, key in ipairs(lists) do if call('LREM', of .. key, -1, job) == 1 then return key end end
  return nil
end

local function note(of, job, state)
  local f = call('HMGET', of .. job, 'finishedOn', 'timestamp', 'atm')
  local name = string.sub(of, #prefix + 1, -2)
  changed[#changed + 1] = { name, job, state, f[1] or f[2] or '0', f[3] or '0' }
end`

const placing = `
-- Lets a job that is in no list wait to run.
local function place(of, job, from)
  local key = of .. job
  local parsed, opts = pcall(cjson.decode, call('HGET', key, 'opts') or '{}')
  local lifo = parsed and type(opts) == 'table' and opts['lifo'] == true
  local priority = tonumber(call('HGET', key, 'priority') or '0') or 0
  if priority == 0 then
    call(lifo and 'RPUSH' or 'LPUSH', of .. 'wait', job)
  else
    call('ZADD', of .. 'prioritized', string.format('%.0f', priority * 4294967296 + call('INCR', of .. 'pc') % 4294967296), job)
  end
  local meta = call('HMGET', of .. 'meta', 'paused', 'concurrency')
  if not meta[1] and not (meta[2] and call('LLEN', of .. 'active') >= tonumber(meta[2])) then call('ZADD', of .. 'marker', 0, '0') end
  tell(of, 'waiting', 'jobId', job, 'prev', from)
end`

const removing = `
local removeBelow

local function drop(of, job, state, below)
  local key = of .. job
  note(of, job, state)
  if below then removeBelow(of, job) end
  local dedup = call('HGET', key, 'deid')
  if dedup and call('GET', of .. 'de:' .. dedup) == job then call('DEL', of .. 'de:' .. dedup, of .. 'dn:' .. dedup) end
  call('UNLINK', key, key .. ':logs', key .. ':dependencies', key .. ':processed', key .. ':failed', key .. ':unsuccessful')
  tell(of, 'removed', 'jobId', job, 'prev', state)
end

removeBelow = function(of, job)
  local waits = of .. job .. ':dependencies'
  for _, child in ipairs(call('SMEMBERS', waits)) do
    local theirs, one = split(child)
    local state = take(theirs, one)
    if state then
      call('SREM', waits, child)
      drop(theirs, one, state, true)
    end
  end
end`

/** ARGV[3]: '1' also removes a job that has ended. ARGV[4]: '1' keeps the jobs below it. */
export const removeScript = `${shared}${hasBegunFunction}${placing}${removing}
-- A parent cannot complete without a child that it waits for: it fails, as if the child had failed it.
local function failParent(parent, child)
  local of, job = split(parent)
  call('SREM', parent .. ':dependencies', child)
  call('ZADD', parent .. ':unsuccessful', now, child)
  if call('ZREM', of .. 'waiting-children', job) == 1 then
    call('HSET', parent, 'defa', 'child ' .. child .. ' failed')
    place(of, job, 'waiting-children')
  end
end

local key = base .. id
local facts = call('HMGET', key, 'parentKey', 'rjk', 'finishedOn', 'timestamp', 'atm', 'stc')
if not facts[4] or (facts[3] and ARGV[3] ~= '1') then return { 'changed' } end
local isAwaited = facts[1] and call('SISMEMBER', facts[1] .. ':dependencies', key) == 1
if isAwaited and not facts[3] then return { 'tied' } end
if facts[3] then
  for _, state in ipairs({ 'completed', 'failed' }) do
    if call('ZREM', base .. state, id) == 1 then
      drop(base, id, state, false)
      if isAwaited then failParent(facts[1], key) end
      return changed
    end
  end
  return { 'changed' }
end
if facts[2] and not hasBegun(facts[5], facts[6]) then
  local due = call('ZSCORE', base .. 'repeat', facts[2])
  if due and id == 'repeat:' .. facts[2] .. ':' .. due then return { 'scheduled' } end
end
local state = take(base, id)
if not state then return { 'changed' } end
drop(base, id, state, ARGV[4] ~= '1')
return changed`

export const releaseScript = `${shared}${placing}
if call('EXISTS', base .. id .. ':lock') == 1 or call('LREM', base .. 'active', 0, id) == 0 then return { 'changed' } end
call('SREM', base .. 'stalled', id)
call('HINCRBY', base .. id, 'stc', 1)
note(base, id, 'active')
place(base, id, 'active')
return changed`

export const removeBelowScript = `${shared}${removing}
removeBelow(base, id)
return changed`

/** ARGV[3]: '1' gives the jobs all their attempts again. */
export const retryScript = `${shared}${placing}
-- It is deduplicated again, unless another job has its id by now, or it had the id for a time.
local function deduplicate(of, job)
  local facts = call('HMGET', of .. job, 'deid', 'opts')
  if not facts[1] then return end
  local parsed, opts = pcall(cjson.decode, facts[2] or '{}')
  local given = parsed and type(opts) == 'table' and opts['de']
  if type(given) == 'table' and not given['ttl'] then call('SET', of .. 'de:' .. facts[1], job, 'NX') end
end

-- Lets a job that is in no list wait: for its children, or to run.
local function requeue(of, job, from)
  local key = of .. job
  call('HDEL', key, 'finishedOn', 'processedOn', 'failedReason', 'defa', 'stc')
  deduplicate(of, job)
  if ARGV[3] == '1' then call('HDEL', key, 'atm') end
  if call('SCARD', key .. ':dependencies') > 0 then
    call('ZADD', of .. 'waiting-children', now, job)
    tell(of, 'waiting-children', 'jobId', job, 'prev', from)
  else
    place(of, job, from)
  end
end

-- The first child below whose failure failed its parent, and that no longer exists.
local function gone(key)
  for _, child in ipairs(call('ZRANGE', key .. ':unsuccessful', 0, -1)) do
    if call('EXISTS', child) == 0 then return child end
    local missing = gone(child)
    if missing then return missing end
  end
  return nil
end

local function isFailedByChild(key)
  local reason = call('HGET', key, 'defa')
  return reason and string.find(reason, '^child .* failed$') ~= nil
end

-- Whether a worker is failing a parent above because of its child: it will be failed in a moment.
local function isBusy(key)
  local parent = call('HGET', key, 'parentKey')
  if not parent or parent == '' or call('EXISTS', parent) == 0 then return false end
  if call('HEXISTS', parent, 'finishedOn') == 0 and call('EXISTS', parent .. ':lock') == 1 and isFailedByChild(parent) then return true end
  return isBusy(parent)
end

local function down(of, job)
  local key = of .. job
  note(of, job, 'failed')
  for _, child in ipairs(call('ZRANGE', key .. ':unsuccessful', 0, -1)) do
    local theirs, one = split(child)
    if call('ZSCORE', theirs .. 'failed', one) then down(theirs, one) end
    call('ZREM', key .. ':unsuccessful', child)
    call('SADD', key .. ':dependencies', child)
  end
  call('ZREM', of .. 'failed', job)
  requeue(of, job, 'failed')
end

local function up(child)
  local parent = call('HGET', child, 'parentKey')
  if not parent or parent == '' then return end
  local facts = call('HMGET', parent, 'timestamp', 'finishedOn', 'processedOn')
  if not facts[1] then return end
  local of, job = split(parent)
  local failed = call('ZSCORE', of .. 'failed', job)
  -- One that has completed or is running does not wait for it any more.
  if (facts[2] and not failed) or call('EXISTS', parent .. ':lock') == 1 then return end
  local counted = call('ZREM', parent .. ':unsuccessful', child) == 1
  local ignored = not counted and call('HDEL', parent .. ':failed', child) == 1
  if not counted and not ignored then return end
  call('SADD', parent .. ':dependencies', child)
  if call('ZCARD', parent .. ':unsuccessful') > 0 then return end
  if failed then
    -- Without a start it was failed by hand, and stays failed.
    if not counted or not facts[3] then return end
    note(of, job, 'failed')
    call('ZREM', of .. 'failed', job)
    requeue(of, job, 'failed')
    up(parent)
    return
  end
  if call('HEXISTS', parent, 'defa') == 1 and not isFailedByChild(parent) then return end
  local from = take(of, job)
  if from then requeue(of, job, from) end
end

local key = base .. id
if not call('ZSCORE', base .. 'failed', id) or call('EXISTS', key) == 0 then return { 'changed' } end
local missing = gone(key)
if missing then return { 'gone', string.sub(missing, #prefix + 1) } end
if isBusy(key) then return { 'busy' } end
down(base, id)
up(key)
return changed`

/** ARGV: queue and id of the parent. */
export const hastenScript = `${shared}${placing}
local reason = call('HGET', base .. id, 'defa')
if reason and string.find(reason, '^child .* failed$') and call('ZREM', base .. 'delayed', id) == 1 then place(base, id, 'delayed') end
return {}`

export const uncountScript = `
local key = KEYS[1] .. ARGV[1] .. ':' .. ARGV[2]
for _, count in ipairs({ 'atm', 'ats' }) do
  if tonumber(redis.call('HGET', key, count) or '0') > 0 then redis.call('HINCRBY', key, count, -1) end
end
return {}`
