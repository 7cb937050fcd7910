import type { IQueueBackend } from 'bullmq'
import type { RedisClient } from 'zin/plugins/redis'
import { mostLogBytes, mostLogLines, type QueueBackend } from '../backend.js'

/** KEYS: the job, its log. ARGV: the line, the most lines, the most bytes. Returns the number of kept lines, -1 if the job does not exist. */
const addScript = `
local call = redis.call
if call('EXISTS', KEYS[1]) == 0 then return -1 end
local lines = call('RPUSH', KEYS[2], ARGV[1])
local bytes = call('HINCRBY', KEYS[1], 'zin:logBytes', #ARGV[1])
local dropped = 0
while lines > tonumber(ARGV[2]) or (bytes > tonumber(ARGV[3]) and lines > 1) do
  bytes = bytes - #call('LPOP', KEYS[2])
  lines = lines - 1
  dropped = dropped + 1
end
if dropped > 0 then
  call('HSET', KEYS[1], 'zin:logBytes', bytes)
  call('HINCRBY', KEYS[1], 'zin:logDropped', dropped)
end
return lines`

/** KEYS: the job, its log. ARGV: the number of the first line, negative from the end; the number of lines. */
const readScript = `
local call = redis.call
local count, dropped = call('LLEN', KEYS[2]), tonumber(call('HGET', KEYS[1], 'zin:logDropped') or '0')
local offset, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local from = math.max(0, offset < 0 and count + offset or offset - dropped)
return { count, dropped, from + dropped, limit < 1 and {} or call('LRANGE', KEYS[2], from, from + limit - 1) }`

interface Client {
  eval(script: string, keys: number, ...args: readonly (string | number)[]): Promise<unknown>
}

/** Appends to and reads the logs of jobs in Redis. */
export function redisLogs(redis: RedisClient): Pick<QueueBackend, 'addLog' | 'readLogs'> {
  return {
    async addLog({ id, toKey }, line, through) {
      // The connection of a worker waits for a lost Redis.
      const client = await (through as IQueueBackend & { readonly client: Promise<Client> }).client
      const kept = Number(await client.eval(addScript, 2, toKey(id), toKey(`${id}:logs`), line, mostLogLines, mostLogBytes))
      return kept < 0 ? undefined : kept
    },
    async readLogs({ id, toKey }, { limit, offset }) {
      const read = await redis.eval(readScript, 2, toKey(id), toKey(`${id}:logs`), offset, limit)
      const [count, dropped, first, lines] = read as [number, number, number, string[]]
      return { count, dropped, offset: first, lines }
    },
  }
}
