import type { Kv } from 'zin/plugins/kv'
import { type RedisClient, whenReady } from 'zin/plugins/redis'
import { workerErrors } from '../errors.js'
import { byName, type PageQuery, type StoredWorker, type WorkerStore } from './contract.js'
import { emptyPage, namesOf } from './page.js'
import { RedisScript } from './redis-script.js'
import { insertScript, pageScript, removeScript, replaceScript } from './redis-scripts.js'

/** How long a command waits for a reconnecting client, in ms. */
const patienceMs = 1000

/** Opens a store in the Redis of a key-value store, shared by all processes of the app. Each method is one command. */
export function redisStore(kv: Kv, keyPrefix: string): WorkerStore {
  // One hash tag keeps all keys in one slot of a cluster, so that a script can use them together.
  const tag = `{${keyPrefix.replaceAll('{', '(').replaceAll('}', ')')}:workers}`
  const records = `${tag}:records`
  const keys = [records, `${tag}:all`, `${tag}:active`]
  const insert = new RedisScript(insertScript)
  const replace = new RedisScript(replaceScript)
  const remove = new RedisScript(removeScript)
  const page = new RedisScript(pageScript)
  const client = async (): Promise<RedisClient> => {
    const { redis } = kv
    if (redis === undefined) throw workerErrors.WORKER_STORE_UNAVAILABLE('kvstore', 'the plugin kv has not started or has stopped')
    if (redis.status !== 'ready') await whenReady(redis, patienceMs)
    return redis
  }
  const written = (worker: StoredWorker): readonly string[] => [
    worker.record.name,
    JSON.stringify(worker),
    worker.record.activeStatus ? '1' : '0',
  ]

  return {
    driver: 'kvstore',
    place: { keyPrefix },
    shared: true,
    async prepare() {},
    async insert(worker) {
      return (await insert.run(await client(), keys, written(worker))) === 1
    },
    async get(name) {
      const text = await (await client()).hget(records, name)
      return text === null ? undefined : workerOf(text)
    },
    async page(query) {
      const part = partOf(query)
      if (part === undefined) return emptyPage
      const args = [query.offset, query.limit, query.inactive ? 1 : 0, ...part]
      const [total, ...texts] = (await page.run(await client(), keys, args)) as [number, ...string[]]
      return { workers: texts.map(workerOf), total }
    },
    async all() {
      return (await (await client()).hvals(records)).map(workerOf).sort(byName)
    },
    async replace(worker) {
      return (await replace.run(await client(), keys, [...written(worker), worker.id, worker.generation - 1])) === 1
    },
    async remove(worker) {
      return (await remove.run(await client(), keys, [worker.record.name, worker.id])) === 1
    },
  }
}

/** Returns the name arguments of the script; undefined if no name can match. */
function partOf(query: PageQuery): readonly string[] | undefined {
  const only = namesOf(query)
  if (only !== undefined) return only.length === 0 ? undefined : ['only', ...only]
  return query.without === undefined || query.without.size === 0 ? ['all'] : ['without', ...query.without]
}

function workerOf(text: string): StoredWorker {
  return JSON.parse(text) as StoredWorker
}
