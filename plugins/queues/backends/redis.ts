import type { Job, JobType, Queue } from 'bullmq'
import { type Logger, messageOf } from 'zin'
import {
  abortable,
  appConnections,
  checkEviction,
  connectionName,
  describeRedis,
  isRedisUnavailable,
  isRedisUnsent,
  type OwnedRedisClient,
  openRedis,
  type RedisClient,
  type RedisTarget,
  whenReady,
} from 'zin/plugins/redis'
import { mostRunning, type QueueBackend } from '../backend.js'
import { loadBullmq } from '../bullmq.js'
import type { ListedState, QueueCounts, QueueSample } from '../contract.js'
import { redisDeletion } from '../deletion/redis.js'
import { queueErrors } from '../errors.js'
import { redisFlows } from '../flows/redis.js'
import { readyKey } from '../ready.js'
import { redisSchedules } from '../schedules/redis.js'
import { redisSearch } from '../search/redis.js'
import { isWrongType } from '../wrong-type.js'
import { jobOfFields, listedFields } from './listed-jobs.js'
import { redisAdding } from './redis-adding.js'
import { redisLogs } from './redis-logs.js'
import { redisParts } from './redis-parts.js'
import { pageAfterScript, walkedKeys } from './redis-walk.js'
import { OrphanedJobs, staysClosed, wakesOthers } from './redis-worker.js'

export interface RedisBackendOptions {
  readonly target: RedisTarget
  /** The app's name. Keys start with it in braces, so that a Redis Cluster keeps them in one slot. */
  readonly app: string
  readonly connectTimeoutMs: number
  readonly log: Logger
  /** Whether a Redis that may evict jobs is an error; otherwise it is a warning. */
  readonly strict: boolean
  /** Whether this process runs the app, and not a command. */
  readonly runs: boolean
}

/** How long the key of a ping is kept. */
const pingSeconds = 60

/** Distance between the scores of two consecutive priorities of waiting jobs in BullMQ. */
const levelScore = 2 ** 32

/** KEYS: the five keys of waiting jobs, the active ones, the job, its lock. ARGV: id, token, ms, reason. */
const claimScript = `
local id = ARGV[1]
local waited = redis.call('LREM', KEYS[1], 1, id) + redis.call('LREM', KEYS[2], 1, id)
  + redis.call('ZREM', KEYS[3], id) + redis.call('ZREM', KEYS[4], id) + redis.call('ZREM', KEYS[5], id)
if waited == 0 then return 0 end
redis.call('LPUSH', KEYS[6], id)
redis.call('HSET', KEYS[7], 'defa', ARGV[4])
redis.call('SET', KEYS[8], ARGV[2], 'PX', ARGV[3])
return 1`

/** KEYS: the job. ARGV: reason. */
const failNextScript = `
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'finishedOn') == 1 then return 0 end
redis.call('HSET', KEYS[1], 'defa', ARGV[1])
return 1`

/** KEYS: the job. ARGV: when it is ready. */
const readyScript = `
local stored = redis.call('HGET', KEYS[1], 'opts')
local parsed, opts = pcall(cjson.decode, stored or '')
if not parsed or type(opts) ~= 'table' then return end
opts['${readyKey}'] = tonumber(ARGV[1])
redis.call('HSET', KEYS[1], 'opts', cjson.encode(opts))`

/** KEYS: the lock, the job, the running jobs, those that may have stalled. ARGV: id, token, ms, start of the attempt. */
const relockScript = `
local call = redis.call
local held = call('GET', KEYS[1])
if held and held ~= ARGV[2] or not call('LPOS', KEYS[3], ARGV[1]) then return 0 end
if tonumber(call('HGET', KEYS[2], 'processedOn') or 'inf') > tonumber(ARGV[4]) then return 0 end
call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
call('SREM', KEYS[4], ARGV[1])
return 1`

/** BullMQ's score of a delayed job is its time multiplied by this. */
const delayedScore = 0x1000

/** Events of a queue read per command. */
const eventsAtOnce = 1_000

/** The keys of each state and the command that counts them, in the order that `countsOf` reads. */
const countedKeys = [
  ['wait', 'llen'],
  ['paused', 'llen'],
  ['prioritized', 'zcard'],
  ['active', 'llen'],
  ['delayed', 'zcard'],
  ['completed', 'zcard'],
  ['failed', 'zcard'],
  ['waiting-children', 'zcard'],
] as const

function countsOf(replies: readonly number[]): QueueCounts {
  const [plain = 0, paused = 0, prioritized = 0, active = 0, delayed = 0, completed = 0, failed = 0, waitingChildren = 0] = replies
  return { waiting: plain + paused + prioritized, active, delayed, completed, failed, waitingChildren }
}

/** A delayed job that was due so long ago is overdue, in s. */
const overdueS = 5

/**
 * Samples a queue in one command, however many jobs it has: returns the counts of `countedKeys`, then 1 if the queue is paused, then the time
 * when its oldest waiting job became ready, over at most 50 priorities, then the number of overdue delayed jobs. KEYS[1]: the key prefix of the queue.
 */
const sampleScript = `
local base = KEYS[1]
local function key(name) return base .. name end
local function ready(id)
  local job = redis.call('HMGET', key(id), 'timestamp', 'opts', 'processedOn')
  if not job[1] then return nil end
  local parsed, opts = pcall(cjson.decode, job[2] or '{}')
  if not parsed or type(opts) ~= 'table' then opts = {} end
  local due = tonumber(opts['${readyKey}']) or (tonumber(job[1]) or 0) + (tonumber(opts['delay']) or 0)
  return math.max(due, tonumber(job[3]) or 0)
end
local oldest
local function consider(id)
  local since = id and ready(id)
  if since and (oldest == nil or since < oldest) then oldest = since end
end
local waiting, paused, prioritized = redis.call('LLEN', key('wait')), redis.call('LLEN', key('paused')), redis.call('ZCARD', key('prioritized'))
local delayed, overdue = redis.call('ZCARD', key('delayed')), 0
if waiting > 0 then consider(redis.call('LINDEX', key('wait'), -1)) end
if paused > 0 then consider(redis.call('LINDEX', key('paused'), -1)) end
local least = 0
for _ = 1, prioritized > 0 and 50 or 0 do
  local first = redis.call('ZRANGEBYSCORE', key('prioritized'), least, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if not first[1] then break end
  consider(first[1])
  least = (math.floor(tonumber(first[2]) / ${levelScore}) + 1) * ${levelScore}
end
if delayed > 0 then
  local due = (tonumber(redis.call('TIME')[1]) - ${overdueS}) * 1000 * ${delayedScore}
  overdue = redis.call('ZCOUNT', key('delayed'), '-inf', string.format('%.0f', due))
end
return {
  waiting, paused, prioritized, redis.call('LLEN', key('active')), delayed, redis.call('ZCARD', key('completed')),
  redis.call('ZCARD', key('failed')), redis.call('ZCARD', key('waiting-children')),
  redis.call('HEXISTS', key('meta'), 'paused'), oldest and string.format('%.0f', oldest) or false, overdue
}`

/** The start times of the jobs at the end of the list of running ones, which started first. KEYS[1]: the key prefix of the queue. */
const runningScript = `
local since = {}
for _, id in ipairs(redis.call('LRANGE', KEYS[1] .. 'active', -${mostRunning}, -1)) do
  local at = redis.call('HGET', KEYS[1] .. id, 'processedOn')
  if at then since[#since + 1] = at end
end
return since`

function sampleOf(reply: readonly (number | string | null)[]): QueueSample {
  const [paused, oldest, overdue] = reply.slice(countedKeys.length)
  return {
    counts: countsOf(reply.slice(0, countedKeys.length).map(Number)),
    paused: paused === 1,
    oldestWaiting: oldest === null || oldest === undefined ? undefined : Number(oldest),
    overdue: Number(overdue ?? 0),
  }
}

/** How long `add` waits for a lost connection to be restored, in ms. */
const patienceMs = 1000

export async function openRedisBackend({ target, app, connectTimeoutMs, log, runs, strict }: RedisBackendOptions): Promise<QueueBackend> {
  const prefix = `{${app}}`
  /** Key names as in BullMQ. */
  const keyOf = (queue: string, key: string): string => `${prefix}:${queue}:${key}`
  const namesKey = `${prefix}:queues`
  const common = { target, setting: 'REDIS_URL', connectTimeoutMs, log }
  const names = [`${app}:queues`, `${app}:workers`] as const
  const opening = openBoth([
    openRedis({ ...common, name: connectionName(names[0], runs), mode: 'fail-fast' }),
    openRedis({ ...common, name: connectionName(names[1], runs), mode: 'patient' }),
  ])
  const bull = loadBullmq()
  const [producer, consumer] = await opening
  const where = describeRedis(target)
  const close = (): void => {
    producer.closeAll()
    consumer.closeAll()
  }
  try {
    await checkEviction({ client: producer, plugin: 'queues', where, keeps: 'jobs', strict, log })
  } catch (error) {
    close()
    throw error
  }

  const deletion = redisDeletion(producer, prefix)
  const orphaned = new OrphanedJobs(consumer)
  return {
    kind: 'redis',
    where,
    makeQueue: (name, options) => new bull.Queue(name, { ...options, connection: producer, prefix }),
    makeWorker: (name, processor, options) =>
      orphaned.watch(wakesOthers(staysClosed(new bull.Worker(name, processor, { ...options, connection: consumer, prefix })), producer)),
    makeEvents: (name, options) => new bull.QueueEvents(name, { ...options, connection: consumer, prefix }),
    makeFlow: (options) => new bull.FlowProducer({ ...options, connection: producer, prefix }),
    async ready() {
      if (!(await whenReady(producer, patienceMs))) throw queueErrors.QUEUE_CONNECTION_ERROR(where, 'the connection is down')
    },
    page: (queue, state, offset, limit, payload) =>
      listPage(payload ? jobs : (...range) => listedJobs(producer, ...range), queue, state, offset, limit),
    pageAfter: async (queue, state, after, limit) => {
      const lists = walkedKeys[state].map((key) => queue.toKey(key))
      const args = [limit, state === 'completed' || state === 'failed' ? '1' : '', ...after]
      return listedById(producer, queue, (await producer.eval(pageAfterScript, lists.length, ...lists, ...args)) as string[])
    },
    async counts(queues) {
      const pipeline = producer.pipeline()
      for (const queue of queues) {
        for (const [key, command] of countedKeys) pipeline[command](keyOf(queue, key))
      }
      const replies = ((await pipeline.exec()) ?? []).map(([error, count]) => {
        if (error) throw error
        return Number(count)
      })
      return queues.map((_, i) => countsOf(replies.slice(i * countedKeys.length)))
    },
    async samples(queues) {
      const pipeline = producer.pipeline()
      for (const queue of queues) pipeline.eval(sampleScript, 1, keyOf(queue, ''))
      return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
        if (error && !isWrongType(error)) throw error
        return error ? { ...sampleOf([]), broken: messageOf(error) } : sampleOf(reply as (number | string | null)[])
      })
    },
    async running(queues) {
      const pipeline = producer.pipeline()
      for (const queue of queues) pipeline.eval(runningScript, 1, keyOf(queue, ''))
      return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
        if (error) throw error
        return (reply as string[]).map(Number).sort((a, b) => a - b)
      })
    },
    async scheduled(queues) {
      const pipeline = producer.pipeline()
      for (const queue of queues) pipeline.exists(keyOf(queue, 'repeat'))
      const replies = (await pipeline.exec()) ?? []
      return queues.filter((_, i) => replies[i]?.[0] === null && replies[i]?.[1] === 1)
    },
    takesTurn: async (task, ms) => (await producer.set(`${namesKey}:turn:${task}`, '', 'PX', ms, 'NX')) === 'OK',
    note: async (name) => (await producer.hget(`${namesKey}:notes`, name)) ?? undefined,
    setNote: async (name, text) => void (await producer.hset(`${namesKey}:notes`, name, text)),
    time: () => producer.time().then(([seconds = 0, micros = 0]) => seconds * 1000 + Math.floor(micros / 1000)),
    lastEvent: async (queue) => (await producer.xrevrange(queue.toKey('events'), '+', '-', 'COUNT', 1))[0]?.[0],
    reachesBack: async (queue, id) => (await producer.xrange(queue.toKey('events'), '-', id, 'COUNT', 1)).length > 0,
    async firstAbove(queue, priority) {
      const [plain] = priority < 0 ? await jobs(queue, 'waiting', 0, 0, true) : []
      if (plain) return plain
      const least = (Math.max(0, priority) + 1) * levelScore
      const [id] = await producer.zrangebyscore(queue.toKey('prioritized'), least, '+inf', 'LIMIT', 0, 1)
      return id === undefined ? undefined : ((await queue.getJob(id)) as Job | undefined)
    },
    async claim(queue, id, { token, lockMs, reason }) {
      const keys = ['wait', 'paused', 'prioritized', 'delayed', 'waiting-children', 'active', id, `${id}:lock`].map((key) =>
        queue.toKey(key),
      )
      return (await producer.eval(claimScript, keys.length, ...keys, id, token, lockMs, reason)) === 1
    },
    failNext: async (queue, id, reason) => (await producer.eval(failNextScript, 1, queue.toKey(id), reason)) === 1,
    async relock({ id, toKey }, { ms, since, token }) {
      const keys = [`${id}:lock`, id, 'active', 'stalled'].map((key) => toKey(key))
      return (await producer.eval(relockScript, keys.length, ...keys, id, token, ms, since)) === 1
    },
    async noteReady(key) {
      await producer.eval(readyScript, 1, key, Date.now())
    },
    async dueAt(queue, ids) {
      const pipeline = producer.pipeline()
      for (const id of ids) pipeline.zscore(queue.toKey('delayed'), id)
      return ((await pipeline.exec()) ?? []).map(([error, score]) => {
        if (error) throw error
        return score === null ? undefined : Math.floor(Number(score) / delayedScore)
      })
    },
    ...redisAdding(producer),
    ...redisLogs(producer),
    ...redisParts(producer, prefix),
    async removeTraces(queue, removed) {
      const ids = new Set(removed.map(({ id }) => id))
      const stream = queue.toKey('events')
      for (let from = '-'; ; ) {
        const events = await producer.xrange(stream, from, '+', 'COUNT', eventsAtOnce)
        const theirs = events.filter(([, fields]) => ids.has(fields[fields.indexOf('jobId') + 1])).map(([id]) => id)
        if (theirs.length > 0) await producer.xdel(stream, ...theirs)
        if (events.length < eventsAtOnce) break
        from = `(${events.at(-1)?.[0]}`
      }
      for (const { id, parentKey } of removed) {
        if (parentKey === undefined || id === undefined) continue
        for (const part of ['processed', 'failed']) await producer.hdel(`${parentKey}:${part}`, queue.toKey(id))
      }
    },
    flows: redisFlows(producer, prefix),
    deletion,
    search: redisSearch(producer, prefix),
    schedules: redisSchedules(producer, prefix),
    data: async (indexed) => (await import('../data/redis.js')).redisData({ redis: producer, prefix, indexed }),
    users: () => appConnections(producer, names),
    // Redis keeps nothing of a deleted key in memory, and its files on disk are not managed here.
    scrub: () => Promise.resolve(),
    remember: (name) => void producer.sadd(namesKey, name).catch(() => undefined),
    names: () => producer.smembers(namesKey),
    keep: (wanted) => wanted,
    async ping(signal) {
      // A write: a full server and a replica answer a PING.
      await abortable(producer.set(`${namesKey}:ping`, '', 'EX', pingSeconds), signal)
    },
    isUnavailable: isRedisUnavailable,
    isUnsent: isRedisUnsent,
    close: async () => close(),
  }
}

/** Opens both connections or none: if one cannot connect, the other is closed. */
async function openBoth(
  opening: readonly [Promise<OwnedRedisClient>, Promise<OwnedRedisClient>],
): Promise<[OwnedRedisClient, OwnedRedisClient]> {
  const opened = await Promise.allSettled(opening)
  const failed = opened.find((one) => one.status === 'rejected')
  if (failed) {
    for (const one of opened) if (one.status === 'fulfilled') one.value.closeAll()
    throw failed.reason
  }
  return Promise.all(opening)
}

type ReadJobs = typeof jobs

async function listPage(read: ReadJobs, queue: Queue, state: ListedState, offset: number, limit: number): Promise<readonly Job[]> {
  const end = offset + limit - 1
  if (state !== 'waiting') return read(queue, state, offset, end, state !== 'completed' && state !== 'failed')
  // Jobs without a priority run before all others; each part is in execution order.
  const { waiting: plain = 0 } = await queue.getJobCounts('waiting')
  const first = offset < plain ? await read(queue, 'waiting', offset, Math.min(end, plain - 1), true) : []
  if (end < plain) return first
  return [...first, ...(await read(queue, 'prioritized', Math.max(0, offset - plain), end - plain, true))]
}

/** A job may be removed between reading the list and reading the job. */
async function jobs(queue: Queue, type: JobType, start: number, end: number, ascending: boolean): Promise<Job[]> {
  return (await queue.getJobs([type], start, end, ascending)).filter(Boolean) as Job[]
}

/** Reads the fields of a list only, in one round trip after that for the ids. */
async function listedJobs(redis: RedisClient, queue: Queue, type: JobType, start: number, end: number, ascending: boolean): Promise<Job[]> {
  return listedById(redis, queue, await queue.getRanges([type], start, end, ascending))
}

async function listedById(redis: RedisClient, queue: Queue, ids: readonly string[]): Promise<Job[]> {
  const pipeline = redis.pipeline()
  for (const id of ids) pipeline.hmget(queue.toKey(id), ...listedFields)
  const replies = ids.length === 0 ? [] : ((await pipeline.exec()) ?? [])
  return replies.flatMap(([error, values], i) => {
    if (error) throw error
    return jobOfFields(queue, ids[i] ?? '', values as (string | null)[]) ?? []
  })
}
