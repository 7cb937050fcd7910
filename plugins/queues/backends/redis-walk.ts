import type { ListedState } from '../contract.js'

/** BullMQ's keys of each state, in the order in which their jobs are listed. */
export const walkedKeys: Readonly<Record<ListedState, readonly string[]>> = {
  waiting: ['wait', 'prioritized'],
  active: ['active'],
  delayed: ['delayed'],
  'waiting-children': ['waiting-children'],
  completed: ['completed'],
  failed: ['failed'],
}

/**
 * The ids that follow the last of some ids that is still in the lists; from the start if none is. The next job to run is at the end of a list,
 * and at the start of a sorted set. KEYS: the lists in their order. ARGV: limit, '1' for sorted sets in reverse, the ids.
 */
export const pageAfterScript = `
local call, limit, reverse = redis.call, tonumber(ARGV[1]), ARGV[2] == '1'
local types = {}
for i, key in ipairs(KEYS) do types[i] = call('TYPE', key).ok end

local function rank(i, id)
  if types[i] == 'none' then return nil end
  if types[i] ~= 'list' then return call(reverse and 'ZREVRANK' or 'ZRANK', KEYS[i], id) end
  local at = call('LPOS', KEYS[i], id, 'RANK', -1)
  return at and call('LLEN', KEYS[i]) - 1 - at
end

local first, from = 1, 0
for n = #ARGV, 3, -1 do
  local found
  for i = 1, #KEYS do
    local at = rank(i, ARGV[n])
    if at then first, from, found = i, at + 1, true break end
  end
  if found then break end
end
local ids = {}
for i = first, #KEYS do
  local left = limit - #ids
  if left <= 0 then break end
  if types[i] == 'list' then
    local page = call('LRANGE', KEYS[i], -from - left, -from - 1)
    for n = #page, 1, -1 do ids[#ids + 1] = page[n] end
  elseif types[i] ~= 'none' then
    for _, id in ipairs(call(reverse and 'ZREVRANGE' or 'ZRANGE', KEYS[i], from, from + left - 1)) do ids[#ids + 1] = id end
  end
  from = 0
end
return ids`
