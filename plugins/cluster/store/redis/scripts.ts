import { lostNodeMs } from '../contract.js'

/**
 * The script of each method. KEYS[1] is the base of all keys and includes the client's prefix, so that keys built in a script are correct;
 * ARGV[1] is the message channel. Leases use the clock of Redis only.
 *
 * - `<base>:nodes` (id → end of its lease), `<base>:info` (id → JSON), `<base>:version` of both
 * - `<base>:role:<name>` (node, epoch): held as long as the lease of its node is valid
 */
const prelude = `
local base, channel = KEYS[1], ARGV[1]
local nodes, info, version = base .. ':nodes', base .. ':info', base .. ':version'
local function text(number) return string.format('%.0f', number) end
`
const timed = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function alive(node) return node and node ~= '' and tonumber(redis.call('ZSCORE', nodes, node) or 0) > now end
`

const script = (body: string): string => `${prelude}${body}`

/** node, lease in ms, JSON when the labels changed else empty, JSON, message → 1 when it joined, version, now, late leases (id, end, …) */
export const renew = script(`${timed}
local joined = not alive(ARGV[2])
redis.call('ZADD', nodes, text(now + ARGV[3]), ARGV[2])
if joined or ARGV[4] == '1' then
  redis.call('HSET', info, ARGV[2], ARGV[5])
  redis.call('INCR', version)
  redis.call('PUBLISH', channel, ARGV[6])
end
local late = redis.call('ZRANGEBYSCORE', nodes, '-inf', text(now + ARGV[3] * 2 / 3), 'WITHSCORES')
return { joined and 1 or 0, tonumber(redis.call('GET', version) or 0), now, late }`)

/** → version, now, leases (id, end, …), infos (id, JSON, …) */
export const read = script(`${timed}
return { tonumber(redis.call('GET', version) or 0), now, redis.call('ZRANGE', nodes, 0, -1, 'WITHSCORES'), redis.call('HGETALL', info) }`)

/** node, message */
export const leave = script(`
redis.call('HDEL', info, ARGV[2])
if redis.call('ZREM', nodes, ARGV[2]) == 0 then return end
redis.call('INCR', version)
redis.call('PUBLISH', channel, ARGV[3])`)

/** message. A script, so that in a Redis Cluster all messages of a node go through one server and stay in order. */
export const publish = script(`
redis.call('PUBLISH', channel, ARGV[2])`)

/** role, node → epoch, or nothing */
export const acquire = script(`${timed}
local key = base .. ':role:' .. ARGV[2]
local held = redis.call('HMGET', key, 'node', 'epoch')
local epoch = tonumber(held[2] or 0)
if not alive(ARGV[3]) then return false end
if held[1] == ARGV[3] then return epoch end
if alive(held[1]) then return false end
redis.call('HSET', key, 'node', ARGV[3], 'epoch', text(epoch + 1))
return epoch + 1`)

/** role → epoch */
export const epoch = script(`
return redis.call('HGET', base .. ':role:' .. ARGV[2], 'epoch')`)

/** role, node, message, '1' to delete its epoch */
export const release = script(`
local key = base .. ':role:' .. ARGV[2]
if redis.call('HGET', key, 'node') ~= ARGV[3] then return end
if ARGV[5] == '1' then redis.call('DEL', key) else redis.call('HSET', key, 'node', '') end
redis.call('PUBLISH', channel, ARGV[4])`)

/** Lost nodes. */
export const sweep = script(`${timed}
local lost = redis.call('ZRANGEBYSCORE', nodes, '-inf', '(' .. text(now - ${lostNodeMs}), 'LIMIT', 0, 1000)
if #lost == 0 then return end
redis.call('ZREM', nodes, unpack(lost))
redis.call('HDEL', info, unpack(lost))
redis.call('INCR', version)`)
