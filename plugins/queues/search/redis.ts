import { createHash } from 'node:crypto'
import type { RedisClient } from 'zin/plugins/redis'
import { deletedKey } from '../deletion/redis.js'
import { byQueue } from './by-queue.js'
import type { AddedJob, SearchBackend, SearchField } from './contract.js'
import { sinceOf } from './since.js'
import { valuesAt } from './values.js'

/** Maximum entries per command, and per job and field. */
const atOnce = 200
const mostOfJob = 20
/** An index expires if nothing is added for this long, in ms. */
const idleMs = 90 * 86_400_000

/**
 * KEYS: the index, and the position of its next inspection. ARGV: the key prefixes of jobs and of deleted jobs, the expiry in ms, and the
 * new entries.
 *
 * For each new entry, the script checks two others and drops them if their job no longer exists. The index therefore has at most about twice
 * as many entries as there are jobs, however jobs are removed.
 */
const addScript = `
local call = redis.call
local from = tonumber(call('GET', KEYS[2]) or '0')
local wanted = 2 * (#ARGV - 3)
local looked = call('ZRANGE', KEYS[1], from, from + wanted - 1)
local gone = {}
for _, entry in ipairs(looked) do
  local id = string.sub(entry, 26)
  if call('EXISTS', ARGV[1] .. id, ARGV[2] .. id) == 0 then gone[#gone + 1] = entry end
end
if #gone > 0 then call('ZREM', KEYS[1], unpack(gone)) end
call('SET', KEYS[2], #looked < wanted and 0 or from + #looked - #gone, 'PX', ARGV[3])
for i = 4, #ARGV do call('ZADD', KEYS[1], 0, ARGV[i]) end
call('PEXPIRE', KEYS[1], ARGV[3])`

/** Hashes a value of a field to 22 characters. */
function digestOf(path: string, value: string): string {
  return createHash('sha256').update(`${path}\0${value}`).digest('base64url').slice(0, 22)
}

/** The entries of a value sort by id: each id is preceded by its length, so larger numbers come later. */
function entriesOf(fields: readonly SearchField[], jobs: readonly AddedJob[]): readonly string[] {
  return jobs.flatMap(({ data, id = '' }) =>
    fields.flatMap(({ path, places }) =>
      valuesAt(data, places)
        .slice(0, mostOfJob)
        .map((value) => `${digestOf(path, value)}${String(id.length).padStart(3, '0')}${id}`),
    ),
  )
}

/** One index per queue: a sorted set of value digests with job ids. Adding a job takes one command. */
export function redisSearch(redis: RedisClient, prefix: string): SearchBackend {
  /** By queue: the declared paths, each with the time since when it is declared. */
  const registry = `${prefix}-search`
  const indexKey = (queue: string): string => `${registry}:${queue}`
  const cursorKey = (queue: string): string => `${registry}:${queue}:cursor`

  return {
    async open(fields) {
      const known = await redis.hgetall(registry)
      const declared = byQueue(fields, ({ queue }) => queue)
      for (const queue of Object.keys(known)) {
        if (declared.has(queue)) continue
        await redis.unlink(indexKey(queue), cursorKey(queue))
        await redis.hdel(registry, queue)
      }
      for (const [queue, ofQueue] of declared) {
        const next = sinceOf(
          known[queue],
          ofQueue.map(({ path }) => path),
          Date.now(),
        )
        if (next !== known[queue]) await redis.hset(registry, queue, next)
      }
    },
    async added(fields, jobs) {
      const entries = entriesOf(fields, jobs)
      const queue = fields[0]?.queue ?? ''
      const keys = [indexKey(queue), cursorKey(queue)]
      const jobKeys = [`${prefix}:${queue}:`, deletedKey(prefix, queue, '')]
      for (let from = 0; from < entries.length; from += atOnce) {
        await redis.eval(addScript, keys.length, ...keys, ...jobKeys, idleMs, ...entries.slice(from, from + atOnce))
      }
    },
    async removed(fields, jobs) {
      const entries = entriesOf(fields, jobs)
      for (let from = 0; from < entries.length; from += atOnce) {
        await redis.zrem(indexKey(fields[0]?.queue ?? ''), ...entries.slice(from, from + atOnce))
      }
    },
    async find({ path, queue }, value, limit) {
      const digest = digestOf(path, value)
      const [least, most] = [`[${digest}`, `(${digest}:`]
      const [ids, total, known] = await Promise.all([
        redis.zrevrangebylex(indexKey(queue), most, least, 'LIMIT', 0, limit),
        redis.zlexcount(indexKey(queue), least, most),
        redis.hget(registry, queue),
      ])
      const since = (JSON.parse(known ?? '{}') as Readonly<Record<string, number>>)[path]
      return { ids: ids.map((entry) => entry.slice(25)), total, since: since ?? Date.now() }
    },
  }
}
