// KEYS: 1 records (hash: name → JSON), 2 names of all workers, 3 names of active workers (sorted sets, all scores 0).

/** ARGV: name, worker, 1 if active. Returns 1 if the name was free. */
export const insertScript = `
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
redis.call('ZADD', KEYS[2], 0, ARGV[1])
if ARGV[3] == '1' then redis.call('ZADD', KEYS[3], 0, ARGV[1]) end
return 1`

/** ARGV: name, worker, 1 if active, id, previous generation. Returns 1 if it was written. */
export const replaceScript = `
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then return 0 end
local stored = cjson.decode(text)
if stored.id ~= ARGV[4] or stored.generation ~= tonumber(ARGV[5]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] == '1' then redis.call('ZADD', KEYS[3], 0, ARGV[1]) else redis.call('ZREM', KEYS[3], ARGV[1]) end
return 1`

/** ARGV: name, id. Returns 1 if it was removed. */
export const removeScript = `
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text or cjson.decode(text).id ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1`

/**
 * ARGV: offset, limit, 1 to include inactive workers, `all`, `only` or `without`, then names, sorted for `only`. Returns the total and the
 * workers of the page. HMGET is called in batches, because Lua limits the arguments of a call to a few thousand.
 */
export const pageScript = `
local offset, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local index = ARGV[3] == '1' and KEYS[2] or KEYS[3]
local total, names = 0, {}
local function take(name)
  if total >= offset and #names < limit then names[#names + 1] = name end
  total = total + 1
end
if ARGV[4] == 'all' then
  total = redis.call('ZCARD', index)
  if limit > 0 then names = redis.call('ZRANGE', index, offset, offset + limit - 1) end
elseif ARGV[4] == 'only' then
  for i = 5, #ARGV do
    if redis.call('ZSCORE', index, ARGV[i]) then take(ARGV[i]) end
  end
else
  local without = {}
  for i = 5, #ARGV do without[ARGV[i]] = true end
  for _, name in ipairs(redis.call('ZRANGE', index, 0, -1)) do
    if not without[name] then take(name) end
  end
end
local reply = { total }
for first = 1, #names, 1000 do
  for _, text in ipairs(redis.call('HMGET', KEYS[1], unpack(names, first, math.min(first + 999, #names)))) do
    reply[#reply + 1] = text
  end
end
return reply`
