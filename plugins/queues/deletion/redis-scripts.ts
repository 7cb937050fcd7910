import { hasBegunFunction } from '../schedules/redis.js'
import { erased, mostAnchors } from './contract.js'

/**
 * KEYS of all scripts: the key prefix of the queue, the key prefix of its deleted jobs, their index (ids by expiry time), their sizes (bytes
 * by id, and the sum under ''), the list of the ids of the batch, and the ids of erased jobs by time.
 */
export const shared = `
local base, kept, index, sizes, batch, erased = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local call = redis.call
local clock = call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local parts = { '', ':logs', ':processed', ':failed', ':unsuccessful' }

local function forget(id)
  local bytes = tonumber(call('HGET', sizes, id) or '0')
  local found = call('ZREM', index, id)
  call('HDEL', sizes, id)
  if bytes > 0 then call('HINCRBY', sizes, '', -bytes) end
  return found
end

-- Not for a later job with the same id; the clocks of producers may differ from this one.
local function isErased(id, added)
  if added and call('ZSCORE', erased, added .. ':' .. id) then return true end
  local at = call('ZSCORE', erased, id)
  return at and tonumber(added or '0') <= tonumber(at) + ${erased.leewayMs}
end

-- A key still exists in the millisecond of its expiry.
local function expire()
  for _, id in ipairs(call('ZRANGEBYSCORE', index, '-inf', '(' .. string.format('%.0f', now), 'LIMIT', 0, 500)) do forget(id) end
end

local function wakeWorkers()
  if call('HEXISTS', base .. 'meta', 'paused') == 0 then call('ZADD', base .. 'marker', 0, '0') end
end

-- Removes the marked entries of a window at the end of a list.
local function removeMarked(list, count)
  if count > 0 then call('LREM', list, -count, '') end
end`

/** ARGV[1..4]: the name of the batch ('' deletes permanently), ms, maximum jobs, maximum bytes. */
export const deleting = `${hasBegunFunction}
local name, ms, mostJobs, mostBytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local final = name == ''
if not final then expire() end

local function isInFlow(job, facts)
  if call('EXISTS', job .. ':lock', job .. ':dependencies') > 0 then return true end
  return facts.parent and call('SISMEMBER', facts.parent .. ':dependencies', job) == 1
end

local function isScheduled(id, facts)
  if not facts.schedule or facts.finished or facts.begun then return false end
  local nextRun = call('ZSCORE', base .. 'repeat', facts.schedule)
  return nextRun ~= false and nextRun ~= nil and id == 'repeat:' .. facts.schedule .. ':' .. nextRun
end

local function isTied(id, job, facts)
  return isInFlow(job, facts) or isScheduled(id, facts)
end

local function factsOf(job)
  local f = call('HMGET', job, 'finishedOn', 'timestamp', 'atm', 'deid', 'rjk', 'parentKey', 'defa', 'stc')
  return {
    at = tonumber(f[1] or f[2] or '0'), finished = f[1], added = f[2], attempts = tonumber(f[3] or '0'), deduplication = f[4],
    schedule = f[5], begun = hasBegun(f[3], f[8]), parent = f[6] and f[6] ~= '' and f[6], failing = f[7] and f[7] ~= ''
  }
end

local function partsOf(job)
  local more = call('EXISTS', job .. ':logs', job .. ':processed', job .. ':failed', job .. ':unsuccessful')
  return more > 0 and parts or { '' }
end

local function bytesOf(job, all)
  local bytes = 200
  for _, field in ipairs({ 'data', 'opts', 'returnvalue', 'failedReason', 'stacktrace', 'progress' }) do
    bytes = bytes + call('HSTRLEN', job, field)
  end
  for i = 2, #all do bytes = bytes + (call('MEMORY', 'USAGE', job .. all[i]) or 0) end
  return bytes
end

local function deduplicatedMs(id, facts)
  if not facts.deduplication then return '' end
  local key = base .. 'de:' .. facts.deduplication
  if call('GET', key) ~= id then return '' end
  local left = call('PTTL', key)
  call('DEL', key, base .. 'dn:' .. facts.deduplication)
  return tostring(left)
end

-- Returns 1 if the job can be restored.
local function delete(id, facts, state, score)
  local job, target = base .. id, kept .. id
  local deduplicated = deduplicatedMs(id, facts)
  if not final and call('EXISTS', job) == 1 and not isErased(id, facts.added) and call('ZCARD', index) < mostJobs then
    local all = partsOf(job)
    local bytes = bytesOf(job, all)
    if tonumber(call('HGET', sizes, '') or '0') + bytes <= mostBytes then
      -- Replaces an earlier deleted job with this id.
      if forget(id) == 1 then for _, part in ipairs(parts) do call('UNLINK', target .. part) end end
      for _, part in ipairs(all) do
        if call('EXISTS', job .. part) == 1 then
          call('RENAME', job .. part, target .. part)
          call('PEXPIREAT', target .. part, now + ms)
        end
      end
      call('HSET', target, 'zin:batch', name, 'zin:state', state, 'zin:score', score, 'zin:deduplicated', deduplicated)
      call('ZADD', index, now + ms, id)
      call('HSET', sizes, id, bytes)
      call('HINCRBY', sizes, '', bytes)
      call('RPUSH', batch, id)
      return 1
    end
  end
  call('UNLINK', job, job .. ':logs', job .. ':processed', job .. ':failed', job .. ':unsuccessful')
  return 0
end

-- Extends the expiry of the shared keys, and never shortens it: an earlier deletion may last longer.
local function keepKeys()
  if final then return end
  for _, key in ipairs({ index, sizes, batch }) do
    if call('PTTL', key) < ms + 60000 then call('PEXPIRE', key, ms + 60000) end
  end
end`

/**
 * Reads a window of a list or sorted set. ARGV[5..8]: the name of the key, the size of the window, before, maximum attempts. ARGV[9]: how many
 * numbers follow. After them: ids; the window begins after the last of them that is still in the list, or at the start.
 */
export const reading = `
local list, limit, before, mostAttempts = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local key = base .. list
local isList = list == 'wait' or list == 'paused'
local found, ids, scores, skip = nil, {}, {}, 0
for i = #ARGV, 10 + tonumber(ARGV[9]), -1 do
  local at = isList and call('LPOS', key, ARGV[i], 'RANK', -1)
  if isList then at = at and call('LLEN', key) - 1 - at else at = call('ZRANK', key, ARGV[i]) end
  if at then skip = at + 1 break end
end
if isList then
  found = call('LRANGE', key, -skip - limit, -skip - 1)
  for i = #found, 1, -1 do ids[#ids + 1] = found[i] end
else
  found = call('ZRANGE', key, skip, skip + limit - 1, 'WITHSCORES')
  for i = 1, #found, 2 do ids[#ids + 1] = found[i]; scores[#scores + 1] = found[i + 1] end
end`

/**
 * Deletes the jobs in a window. The number: 1 leaves out jobs that will fail. Returns how many jobs were examined, deleted, are restorable, and
 * are tied; then the ids of the last ones that stay.
 */
export const deleteStepScript = `${shared}${deleting}${reading}
local deleted, restorable, tied, gone, stay = 0, 0, 0, {}, {}
for i, id in ipairs(ids) do
  local job = base .. id
  local facts = factsOf(job)
  local isSelected = facts.at < before and facts.attempts <= mostAttempts and not (ARGV[10] == '1' and facts.failing)
  if isSelected and not isTied(id, job, facts) then
    restorable = restorable + delete(id, facts, list, scores[i] or '')
    deleted = deleted + 1
    if isList then call('LSET', key, -skip - i, '') else gone[#gone + 1] = id end
  else
    if isSelected then tied = tied + 1 end
    stay[#stay + 1] = id
  end
end
removeMarked(key, isList and deleted or 0)
if #gone > 0 then call('ZREM', key, unpack(gone)) end
if deleted > 0 then
  call('XADD', base .. 'events', 'MAXLEN', '~', call('HGET', base .. 'meta', 'opts.maxLenEvents') or 10000,
    '*', 'event', 'cleaned', 'count', deleted)
  keepKeys()
end
local reply = { #ids, deleted, restorable, tied }
for i = math.max(1, #stay - ${mostAnchors - 1}), #stay do reply[#reply + 1] = stay[i] end
return reply`

/** Deletes one job. ARGV[5]: its id. ARGV[6..]: names of keys that may contain it. Returns a `DeleteOutcome`. */
export const deleteOneScript = `${shared}${deleting}
local id = ARGV[5]
local job = base .. id
local facts = factsOf(job)
if call('EXISTS', job .. ':lock') == 1 then return 'changed' end
if isTied(id, job, facts) then return 'tied' end
for i = 6, #ARGV do
  local list = ARGV[i]
  local isList = list == 'wait' or list == 'paused'
  local score = not isList and call('ZSCORE', base .. list, id)
  if (isList and call('LREM', base .. list, -1, id) == 1) or (score and call('ZREM', base .. list, id) == 1) then
    local restorable = delete(id, facts, list, score or '')
    call('XADD', base .. 'events', 'MAXLEN', '~', call('HGET', base .. 'meta', 'opts.maxLenEvents') or 10000,
      '*', 'event', 'removed', 'jobId', id, 'prev', list)
    keepKeys()
    return restorable == 1 and 'restorable' or 'final'
  end
end
return 'changed'`

/**
 * Restores the jobs in a window at the end of a batch, last ones first, so that waiting jobs run in their order before all others.
 * ARGV: the name of the batch, the size of the window, how many entries to skip. Returns how many jobs were examined, restored, and are
 * blocked.
 */
export const restoreStepScript = `${shared}
local name, limit, skip = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local ids = call('LRANGE', batch, -skip - limit, -skip - 1)
local restored, blocked, wakes, delays = 0, 0, false, false

local function restore(id, facts)
  local state, score = facts[2], facts[3]
  for _, part in ipairs(parts) do
    if call('EXISTS', kept .. id .. part) == 1 then
      call('RENAME', kept .. id .. part, base .. id .. part)
      call('PERSIST', base .. id .. part)
    end
  end
  call('HDEL', base .. id, 'zin:batch', 'zin:state', 'zin:score', 'zin:deduplicated')
  if state == 'wait' or state == 'paused' then call('RPUSH', base .. 'wait', id) else call('ZADD', base .. state, score, id) end
  local left = facts[4]
  if left and left ~= '' then
    if tonumber(left) > 0 then call('SET', base .. 'de:' .. facts[5], id, 'PX', left) else call('SET', base .. 'de:' .. facts[5], id) end
  end
  forget(id)
  restored = restored + 1
  if state == 'delayed' then delays = true end
  if state == 'wait' or state == 'paused' or state == 'prioritized' then wakes = true end
  if state ~= 'completed' and state ~= 'failed' then
    call('XADD', base .. 'events', 'MAXLEN', '~', call('HGET', base .. 'meta', 'opts.maxLenEvents') or 10000, '*',
      'event', state == 'delayed' and 'delayed' or 'waiting', 'jobId', id, 'prev', 'deleted',
      'delay', state == 'delayed' and string.format('%.0f', math.floor(tonumber(score) / 4096)) or '0')
  end
end

local function isBlocked(id, facts)
  if call('EXISTS', base .. id) == 1 then return true end
  return facts[4] and facts[4] ~= '' and call('EXISTS', base .. 'de:' .. facts[5]) == 1
end

local done = 0
for i = #ids, 1, -1 do
  local id = ids[i]
  local facts = call('HMGET', kept .. id, 'zin:batch', 'zin:state', 'zin:score', 'zin:deduplicated', 'deid', 'timestamp')
  if facts[1] == name and isErased(id, facts[6]) then
    for _, part in ipairs(parts) do call('UNLINK', kept .. id .. part) end
    forget(id)
    facts[1] = false
  end
  if facts[1] == name and isBlocked(id, facts) then
    blocked = blocked + 1
  else
    if facts[1] == name then restore(id, facts) end
    call('LSET', batch, -skip - (#ids - i + 1), '')
    done = done + 1
  end
end
removeMarked(batch, done)
if wakes then wakeWorkers() end
if delays then
  local first = call('ZRANGE', base .. 'delayed', 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', base .. 'marker', math.floor(tonumber(first[2]) / 4096), '1') end
end
return { #ids, restored, blocked }`

/** Returns the number of deleted jobs and their bytes. */
export const usedScript = `${shared}
expire()
return { call('ZCARD', index), tonumber(call('HGET', sizes, '') or '0') }`

/** Returns the ids of deleted jobs that can still be restored, in the order of their expiry. ARGV: how many to skip, how many to read. */
export const listScript = `${shared}
return call('ZRANGEBYSCORE', index, string.format('%.0f', now), '+inf', 'LIMIT', ARGV[1], ARGV[2])`

/** ARGV: for each job its id and when it was added. Returns the ids of those that were not claimed before. */
export const claimScript = `${shared}
local claims = erased .. ':claims'
local mine = {}
for i = 1, #ARGV, 2 do
  if call('ZADD', claims, 'NX', now, ARGV[i + 1] .. ':' .. ARGV[i]) == 1 then mine[#mine + 1] = ARGV[i] end
end
call('ZREMRANGEBYSCORE', claims, '-inf', now - ${erased.ms})
call('PEXPIRE', claims, ${erased.ms})
return mine`

/**
 * Permanently removes deleted jobs, and lets no deletion that is under way keep these jobs, and no restoration bring them back. ARGV: for each its
 * id, and when it was added, or '' for all with its id. Returns the ids of those that existed.
 */
export const forgetScript = `${shared}
local gone = {}
for i = 1, #ARGV, 2 do
  local id, added = ARGV[i], ARGV[i + 1]
  local existed = 0
  if added == '' or call('HGET', kept .. id, 'timestamp') == added then
    for _, part in ipairs(parts) do existed = existed + call('UNLINK', kept .. id .. part) end
    forget(id)
  end
  call('ZADD', erased, now, added == '' and id or added .. ':' .. id)
  if existed > 0 then gone[#gone + 1] = id end
end
call('ZREMRANGEBYSCORE', erased, '-inf', now - ${erased.ms})
call('PEXPIRE', erased, ${erased.ms})
return gone`
