import type { Job } from 'bullmq'
import type { DataRecord, DataStore } from 'zin'
import { type RedisClient, scanKeys, scanPattern } from 'zin/plugins/redis'
import { loadBullmq } from '../bullmq.js'
import { storedOptions } from '../ready.js'
import {
  groupsOf,
  isCounted,
  isNeeded,
  logRecords,
  type MovedChildren,
  type MovedDeduplication,
  type MovedJob,
  type MovedLog,
  type MovedNext,
  type MovedQueue,
  type MovedSchedule,
  movedMeta,
  present,
  type QueueRecord,
  ranNotes,
  recordChecker,
} from './records.js'

type Hash = Readonly<Record<string, string>>
type Options = Readonly<Record<string, unknown>>
type Child = MovedChildren['children'][number]

/** Jobs and children that are read at a time. */
const [pageJobs, pageChildren] = [500, 500]
/** BullMQ's scores: of a delayed job its time multiplied by this, of a waiting one its priority. */
const [delayedScore, levelScore] = [0x1000, 2 ** 32]

/** The lists of jobs in the order of the file; a list has its next job at the end. `paused` is that of earlier versions of BullMQ. */
const lists = [
  ['active', 'waiting', 'list'],
  ['wait', 'waiting', 'list'],
  ['paused', 'waiting', 'list'],
  ['prioritized', 'waiting', 'set'],
  ['delayed', 'delayed', 'set'],
  ['waiting-children', 'waiting-children', 'set'],
  ['completed', 'completed', 'set'],
  ['failed', 'failed', 'set'],
] as const

/** The keys of the children of a job, with their state. */
const childKeys = { dependencies: 'pending', processed: 'processed', failed: 'ignored', unsuccessful: 'failed' } as const

export interface RedisDataParts {
  readonly redis: RedisClient
  /** Of the keys of all queues, in braces. */
  readonly prefix: string
  /** Adds jobs to the index of their declared fields; undefined if none are declared. */
  readonly indexed: ((queue: string, jobs: readonly { readonly id: string; readonly data: unknown }[]) => Promise<void>) | undefined
}

/** The queues of an app in Redis. */
export function redisData({ indexed, prefix, redis }: RedisDataParts): DataStore {
  const keyOf = (queue: string, key: string): string => `${prefix}:${queue}:${key}`
  const namesKey = `${prefix}:queues`
  const markKey = `${prefix}-import`
  const placeOf = (key: string): { queue: string; id: string } => {
    const [queue = '', ...id] = key.slice(prefix.length + 1).split(':')
    return { queue, id: id.join(':') }
  }
  const decoded = (json: string | undefined): Options => {
    const { optsFromJSON } = loadBullmq().Job as unknown as { optsFromJSON(json: string): Options }
    const { parent, ...opts } = optsFromJSON(json ?? '{}') as Options & {
      readonly parent?: { readonly id: string; readonly queue: string }
    }
    return parent === undefined ? opts : { ...opts, parent: { ...parent, queue: parent.queue.slice(prefix.length + 1) } }
  }
  const encoded = (opts: Options): string => {
    const { parent } = opts as { readonly parent?: { readonly queue: string } }
    const given = parent === undefined ? opts : { ...opts, parent: { ...parent, queue: `${prefix}:${parent.queue}` } }
    return storedOptions(given as Job['opts'])
  }
  const numberOf = (text: string | null | undefined): number | undefined =>
    text === null || text === undefined || text === '' ? undefined : Number(text)

  /** The replies of commands in one round trip. */
  const replies = async <T>(fill: (pipeline: ReturnType<RedisClient['pipeline']>) => void): Promise<readonly T[]> => {
    const pipeline = redis.pipeline()
    fill(pipeline)
    return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
      if (error) throw error
      return reply as T
    })
  }

  const jobOf = (id: string, hash: Hash, list: (typeof lists)[number], score: string | undefined): MovedJob => {
    const [key, state] = list
    const parent = hash.parentKey === undefined || hash.parentKey === '' ? undefined : placeOf(hash.parentKey)
    return present<MovedJob>({
      id,
      name: hash.name ?? '',
      state,
      ran: key === 'active' ? true : undefined,
      data: hash.data ?? '{}',
      opts: decoded(hash.opts),
      priority: Number(hash.priority ?? 0),
      delay: Number(hash.delay ?? 0),
      addedAt: Number(hash.timestamp ?? 0),
      readyAt: state === 'delayed' ? Math.floor(Number(score) / delayedScore) : undefined,
      startedAt: numberOf(hash.processedOn),
      endedAt: state === 'completed' || state === 'failed' ? (numberOf(hash.finishedOn) ?? numberOf(score)) : undefined,
      attempts: Number(hash.atm ?? hash.attemptsMade ?? 0),
      starts: Number(hash.ats ?? 0),
      stalls: Number(hash.stc ?? 0),
      progress: hash.progress,
      result: hash.returnvalue,
      error: hash.failedReason,
      stacks: hash.stacktrace,
      failing: hash.defa,
      worker: hash.pb,
      deduplication: hash.deid,
      schedule: hash.rjk,
      parent,
    })
  }

  async function* jobs(queue: string, list: (typeof lists)[number]): AsyncGenerator<QueueRecord, void, undefined> {
    const [name, , kind] = list
    const key = keyOf(queue, name)
    for (let from = 0; ; from += pageJobs) {
      const scores = new Map<string, string>()
      if (kind === 'list') for (const id of (await redis.lrange(key, -from - pageJobs, -from - 1)).reverse()) scores.set(id, '')
      else {
        const found = await redis.zrange(key, `${from}`, `${from + pageJobs - 1}`, 'WITHSCORES')
        for (let i = 0; i < found.length; i += 2) scores.set(found[i] ?? '', found[i + 1] ?? '')
      }
      const ids = [...scores.keys()]
      if (ids.length === 0) return
      const sizes = await replies<number>((pipeline) => {
        for (const id of ids) pipeline.hstrlen(keyOf(queue, id), 'data').hstrlen(keyOf(queue, id), 'returnvalue')
      })
      for (const group of groupsOf(ids.map((id, i) => ({ id, bytes: (sizes[2 * i] ?? 0) + (sizes[2 * i + 1] ?? 0) })))) {
        const found = await replies<Hash | number>((pipeline) => {
          for (const id of group) {
            const job = keyOf(queue, id)
            pipeline
              .hgetall(job)
              .exists(`${job}:logs`)
              .exists(...Object.keys(childKeys).map((part) => `${job}:${part}`))
          }
        })
        for (const [i, id] of group.entries()) {
          const hash = found[3 * i] as Hash
          if (hash.name === undefined) continue
          yield { of: queue, job: jobOf(id, hash, list, scores.get(id)) }
          const dropped = Number(hash['zin:logDropped'] ?? 0)
          if (found[3 * i + 1] === 1) yield* logRecords(queue, id, dropped, await redis.lrange(keyOf(queue, `${id}:logs`), 0, -1))
          if (found[3 * i + 2] !== 0) yield* childrenOf(queue, id)
        }
      }
      if (ids.length < pageJobs) return
    }
  }

  async function* childrenOf(queue: string, job: string): AsyncGenerator<QueueRecord, void, undefined> {
    const base = keyOf(queue, job)
    for (const [part, state] of Object.entries(childKeys)) {
      const key = `${base}:${part}`
      for (let cursor = '0'; ; ) {
        const scan = part === 'dependencies' ? 'sscan' : part === 'unsuccessful' ? 'zscan' : 'hscan'
        const [next, found] = await redis[scan](key, cursor, 'COUNT', pageChildren)
        const width = scan === 'sscan' ? 1 : 2
        const children: Child[] = []
        for (let i = 0; i < found.length; i += width)
          children.push(present<Child>({ ...placeOf(found[i] ?? ''), state, value: scan === 'hscan' ? found[i + 1] : undefined }))
        if (children.length > 0) yield { of: queue, children: { job, children } }
        if (next === '0') break
        cursor = next
      }
    }
  }

  async function* schedulesOf(queue: string): AsyncGenerator<QueueRecord, void, undefined> {
    for (let from = 0; ; from += pageJobs) {
      const found = await redis.zrange(keyOf(queue, 'repeat'), `${from}`, `${from + pageJobs - 1}`, 'WITHSCORES')
      for (let i = 0; i < found.length; i += 2) {
        const id = found[i] ?? ''
        const hash = await redis.hgetall(keyOf(queue, `repeat:${id}`))
        if (hash.name === undefined) continue
        const given = {
          ...{ id, next: Number(found[i + 1]), name: hash.name, pattern: hash.pattern, every: numberOf(hash.every), tz: hash.tz },
          ...{
            startDate: numberOf(hash.startDate),
            endDate: numberOf(hash.endDate),
            limit: numberOf(hash.limit),
            offset: numberOf(hash.offset),
          },
          ...{ count: Number(hash.ic ?? 1), data: hash.data, opts: hash.opts === undefined ? undefined : decoded(hash.opts) },
        }
        yield { of: queue, schedule: present<MovedSchedule>(given) }
      }
      if (found.length < 2 * pageJobs) return
    }
  }

  async function* deduplications(): AsyncGenerator<QueueRecord, void, undefined> {
    for await (const keys of scanKeys(redis, `${scanPattern(prefix)}:*:d[en]:*`)) {
      for (const key of keys) {
        const [queue = '', kind, ...rest] = key.slice(prefix.length + 1).split(':')
        const id = rest.join(':')
        if (kind === 'de') {
          const [job, left] = [await redis.get(key), await redis.pttl(key)]
          if (job === null || left === -2) continue
          yield { of: queue, deduplication: present<MovedDeduplication>({ id, job, expiresAt: left < 0 ? undefined : Date.now() + left }) }
        } else if (kind === 'dn') {
          const { data = '{}', jid, name, opts } = await redis.hgetall(key)
          if (name !== undefined) yield { of: queue, next: present<MovedNext>({ id, job: jid, name, data, opts: decoded(opts) }) }
        }
      }
    }
  }

  /** Scores of delayed jobs of one queue in one ms differ. */
  let delayed = { queue: '', at: -1, n: 0 }
  const scoreOf = (queue: string, at: number): number => {
    delayed =
      delayed.queue === queue && delayed.at === at ? { queue, at, n: Math.min(delayed.n + 1, delayedScore - 1) } : { queue, at, n: 0 }
    return at * delayedScore + delayed.n
  }
  let level = { queue: '', n: 0 }

  const writeJob = (pipeline: ReturnType<RedisClient['pipeline']>, queue: string, job: MovedJob): void => {
    const { id, parent, priority, state } = job
    const key = keyOf(queue, id)
    const hash: Record<string, string | number> = present({
      ...{ name: job.name, data: job.data, opts: encoded(job.opts), timestamp: job.addedAt, delay: job.delay, priority },
      ...{ processedOn: job.startedAt, finishedOn: job.endedAt, progress: job.progress, returnvalue: job.result, failedReason: job.error },
      ...{ stacktrace: job.stacks, defa: job.failing, pb: job.worker, deid: job.deduplication, rjk: job.schedule },
      ...{ atm: job.attempts || undefined, ats: job.starts || undefined, stc: job.stalls || undefined },
      ...(parent !== undefined && {
        parentKey: keyOf(parent.queue, parent.id),
        parent: parentData(`${prefix}:${parent.queue}`, parent.id, job.opts),
      }),
    })
    pipeline.hset(key, hash)
    if (state === 'delayed') pipeline.zadd(keyOf(queue, 'delayed'), scoreOf(queue, job.readyAt ?? 0), id)
    else if (state === 'waiting-children') pipeline.zadd(keyOf(queue, state), job.addedAt, id)
    else if (state !== 'waiting') pipeline.zadd(keyOf(queue, state), job.endedAt ?? 0, id)
    else if (priority === 0) pipeline.lpush(keyOf(queue, 'wait'), id)
    else {
      level = { queue, n: level.queue === queue ? level.n + 1 : 1 }
      pipeline.zadd(keyOf(queue, 'prioritized'), priority * levelScore + level.n, id).set(keyOf(queue, 'pc'), level.n)
    }
  }

  const writeChildren = (pipeline: ReturnType<RedisClient['pipeline']>, queue: string, { children, job }: MovedChildren): void => {
    const base = keyOf(queue, job)
    for (const { id, queue: of, state, value = '' } of children) {
      const child = keyOf(of, id)
      if (state === 'pending') pipeline.sadd(`${base}:dependencies`, child)
      else if (state === 'processed') pipeline.hset(`${base}:processed`, child, value)
      else if (state === 'ignored') pipeline.hset(`${base}:failed`, child, value)
      else pipeline.zadd(`${base}:unsuccessful`, 0, child)
    }
  }

  const writeSchedule = (pipeline: ReturnType<RedisClient['pipeline']>, queue: string, schedule: MovedSchedule): void => {
    const { count, id, next, opts, ...same } = schedule
    pipeline.zadd(keyOf(queue, 'repeat'), next, id)
    pipeline.hset(keyOf(queue, `repeat:${id}`), { ...same, ic: count, ...(opts !== undefined && { opts: encoded(opts) }) })
  }

  return {
    where: 'Redis',
    async size() {
      let count = 0
      for (const queue of await redis.smembers(namesKey)) {
        const counts = await replies<number>((pipeline) => {
          for (const [key, , kind] of lists) pipeline[kind === 'list' ? 'llen' : 'zcard'](keyOf(queue, key))
          pipeline.zcard(keyOf(queue, 'repeat'))
        })
        count += counts.reduce((sum, one) => sum + one, 0)
      }
      return count
    },
    counts: isCounted,
    async *read() {
      let ran = 0
      for (const queue of (await redis.smembers(namesKey)).sort()) {
        const [meta, lastId] = [await redis.hgetall(keyOf(queue, 'meta')), await redis.get(keyOf(queue, 'id'))]
        const settings = Object.fromEntries(Object.entries(meta).filter(([field]) => movedMeta.has(field)))
        const moved = present<MovedQueue>({ meta: settings, lastId: numberOf(lastId) })
        if (isNeeded(moved)) yield { of: queue, queue: moved }
        for (const list of lists) {
          for await (const record of jobs(queue, list)) {
            if (record.job?.ran === true) ran++
            yield record as DataRecord
          }
        }
        for await (const record of schedulesOf(queue)) yield record as DataRecord
      }
      for await (const record of deduplications()) yield record as DataRecord
      return ranNotes(ran)
    },
    checker: recordChecker,
    async write(given) {
      const records = given as readonly QueueRecord[]
      await replies((pipeline) => {
        for (const of of new Set(records.map((record) => record.of))) {
          // A worker that waits looks for jobs. In a paused queue, it finds none.
          pipeline.sadd(namesKey, of).zadd(keyOf(of, 'marker'), 0, '0')
        }
        for (const { children, deduplication, job, log, next, of, queue, schedule } of records) {
          if (queue !== undefined) {
            if (Object.keys(queue.meta).length > 0) pipeline.hset(keyOf(of, 'meta'), { ...queue.meta })
            if (queue.lastId !== undefined) pipeline.set(keyOf(of, 'id'), queue.lastId)
          }
          if (job !== undefined) writeJob(pipeline, of, job)
          if (log !== undefined) writeLog(pipeline, keyOf(of, log.job), log)
          if (children !== undefined) writeChildren(pipeline, of, children)
          if (schedule !== undefined) writeSchedule(pipeline, of, schedule)
          if (deduplication !== undefined) {
            const { expiresAt, id, job: holder } = deduplication
            if (expiresAt === undefined) pipeline.set(keyOf(of, `de:${id}`), holder)
            else if (expiresAt > Date.now()) pipeline.set(keyOf(of, `de:${id}`), holder, 'PXAT', expiresAt)
          }
          if (next !== undefined) {
            const { data, id, job: jid, name, opts } = next
            pipeline.hset(keyOf(of, `dn:${id}`), { name, data, opts: encoded(opts), ...(jid !== undefined && { jid }) })
          }
        }
      })
      if (indexed === undefined) return
      const searched = new Map<string, { id: string; data: unknown }[]>()
      for (const { job, of } of records) {
        if (job === undefined) continue
        searched.set(of, [...(searched.get(of) ?? []), { id: job.id, data: JSON.parse(job.data) as unknown }])
      }
      for (const [queue, found] of searched) await indexed(queue, found)
    },
    async clear() {
      for (const part of [':', '-deleted:', '-deletions:', '-search:'])
        for await (const keys of scanKeys(redis, `${scanPattern(prefix + part)}*`))
          for (let from = 0; from < keys.length; from += pageJobs) await redis.unlink(...keys.slice(from, from + pageJobs))
    },
    mark: async (importing) => void (await (importing ? redis.set(markKey, '1') : redis.del(markKey))),
    marked: async () => (await redis.exists(markKey)) === 1,
  }
}

/** A line in the log of a job counts with its bytes. */
function writeLog(pipeline: ReturnType<RedisClient['pipeline']>, job: string, { from, lines }: MovedLog): void {
  pipeline.rpush(`${job}:logs`, ...lines)
  pipeline.hincrby(
    job,
    'zin:logBytes',
    lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0),
  )
  // Of the first record of a log: how many lines were dropped. Always set, so that later ones change nothing.
  pipeline.hsetnx(job, 'zin:logDropped', String(from))
}

/** What BullMQ stores with a child about its parent. */
function parentData(queueKey: string, id: string, opts: Options): string {
  const short = {
    fpof: 'failParentOnFailure',
    rdof: 'removeDependencyOnFailure',
    idof: 'ignoreDependencyOnFailure',
    cpof: 'continueParentOnFailure',
  }
  const flags = Object.entries(short).filter(([, name]) => opts[name] === true || opts[name] === 'true')
  return JSON.stringify({ id, queueKey, ...Object.fromEntries(flags.map(([flag]) => [flag, true])) })
}
