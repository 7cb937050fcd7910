import type { RedisClient } from 'zin/plugins/redis'
import { mostLogLines, type PartsOf, type QueueBackend } from '../backend.js'
import { deletedKey } from '../deletion/redis.js'

/** The fields of a job's hash that hold its parts. */
const partFields = { data: 'data', result: 'returnvalue', progress: 'progress', error: 'failedReason', stacks: 'stacktrace' } as const
const partNames = Object.keys(partFields) as (keyof typeof partFields)[]

/**
 * KEYS: the job, its log, its lock. ARGV: the number of fields; for each field its name, its old value and its new value ('' for none); the
 * number of log lines; for each line its old and new text.
 */
const writePartsScript = `
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
local fields, lines = tonumber(ARGV[1]), tonumber(ARGV[2 + tonumber(ARGV[1]) * 3])
for i = 0, fields - 1 do
  if (redis.call('HGET', KEYS[1], ARGV[2 + i * 3]) or '') ~= ARGV[3 + i * 3] then return 0 end
end
local first = 3 + fields * 3
local logged = lines > 0 and redis.call('LRANGE', KEYS[2], 0, lines - 1) or {}
for i = 0, lines - 1 do
  if logged[i + 1] ~= ARGV[first + i * 2] then return 0 end
end
for i = 0, fields - 1 do
  if ARGV[4 + i * 3] ~= '' then redis.call('HSET', KEYS[1], ARGV[2 + i * 3], ARGV[4 + i * 3]) end
end
for i = 0, lines - 1 do redis.call('LSET', KEYS[2], i, ARGV[first + i * 2 + 1]) end
return 1`

/** Reads and replaces the parts of a job in Redis. */
export function redisParts(redis: RedisClient, prefix: string): Pick<QueueBackend, 'readParts' | 'writeParts'> {
  const keyOfParts = ({ id, kind, queue }: PartsOf): string =>
    kind === 'deleted' ? deletedKey(prefix, queue.name, id) : queue.toKey(kind === 'job' ? id : `repeat:${id}`)
  return {
    async readParts(of) {
      const key = keyOfParts(of)
      const [values, logs] = await Promise.all([
        redis.hmget(key, ...partNames.map((name) => partFields[name])),
        of.kind === 'schedule' ? [] : redis.lrange(`${key}:logs`, 0, mostLogLines - 1),
      ])
      if (values.every((value) => value === null) && logs.length === 0) return undefined
      const parts = partNames.flatMap((name, i) => (values[i] ? [[name, values[i]] as const] : []))
      return { ...Object.fromEntries(parts), logs }
    },
    async writeParts(of, before, after) {
      const key = keyOfParts(of)
      const fields = partNames.filter((name) => before[name] !== undefined)
      const args = [
        fields.length,
        ...fields.flatMap((name) => [partFields[name], before[name] ?? '', after[name] ?? '']),
        before.logs.length,
        ...before.logs.flatMap((line, i) => [line, after.logs[i] ?? line]),
      ]
      return (await redis.eval(writePartsScript, 3, key, `${key}:logs`, `${key}:lock`, ...args)) === 1
    },
  }
}
