import { type Clock, messageOf } from 'zin'
import { abortable, isRedisUnavailable, isRedisUnsent, type RedisClient, whenReady } from 'zin/plugins/redis'
import { kvErrors } from '../errors.js'
import type { KvStore } from './contract.js'

/** How long a command waits for a lost connection, in ms. */
const reconnectWaitMs = 1000

/**
 * Adds, and sets the TTL of a key that has none: atomic, so that a crash cannot leave a counter that never expires. Returns the sum, and the
 * TTL in ms, -1 without one.
 */
const tallyScript = `
local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 and ARGV[2] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return { sum, left }`

/** Compare-and-set. A TTL of 0 means that the key does not expire. */
const swapScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`

export interface RedisStoreDeps {
  readonly client: RedisClient
  readonly clock: Clock
  /** For messages. */
  readonly where: string
}

export function redisStore({ client, clock, where }: RedisStoreDeps): KvStore {
  const refuse = (error: unknown): never => {
    throw isRedisUnavailable(error) ? kvErrors.KV_UNAVAILABLE(where, messageOf(error)) : error
  }
  const refuseChange = (error: unknown): never => {
    if (!isRedisUnavailable(error) || isRedisUnsent(error)) return refuse(error)
    throw kvErrors.KV_OUTCOME_UNKNOWN(where, messageOf(error))
  }
  const whenConnected = async <T>(command: () => Promise<T>): Promise<T> => {
    if (!(await whenReady(client, reconnectWaitMs))) throw kvErrors.KV_UNAVAILABLE(where, 'the connection is down')
    return command()
  }
  // Without `async`, because each promise costs a microsecond or more where requests are traced by async context.
  const send = <T>(command: () => Promise<T>, refused = refuse): Promise<T> =>
    (client.status === 'ready' ? command() : whenConnected(command)).catch(refused)
  const change = <T>(command: () => Promise<T>): Promise<T> => send(command, refuseChange)
  const isOk = (reply: 'OK' | null): boolean => reply === 'OK'

  return {
    driver: 'redis',
    redis: client,
    get: (key) => send(() => client.get(key)),
    getMany: (keys) => {
      if (keys.length === 0) return Promise.resolve([])
      // The keys are on several nodes of a cluster, so each has its own command; all are sent at once.
      return client.isCluster ? send(() => Promise.all(keys.map((key) => client.get(key)))) : send(() => client.mget(...keys))
    },
    set: (key, value, { ttlMs, ifAbsent = false, ifValue } = {}) => {
      if (ifValue !== undefined) {
        return change(() => client.eval(swapScript, 1, key, ifValue, value, ttlMs ?? 0)).then((reply) => reply === 1)
      }
      if (ttlMs === undefined) return change(() => (ifAbsent ? client.set(key, value, 'NX') : client.set(key, value))).then(isOk)
      return change(() => (ifAbsent ? client.set(key, value, 'PX', ttlMs, 'NX') : client.set(key, value, 'PX', ttlMs))).then(isOk)
    },
    delete: (key) => change(() => client.del(key)).then((count) => count > 0),
    tally: (key, { by = 1, ttlMs } = {}) =>
      change(async () => {
        try {
          const [sum, left] = (await client.eval(tallyScript, 1, key, by, ttlMs ?? 0)) as [number, number]
          return { sum: Number(sum), leftMs: left < 0 ? undefined : left }
        } catch (error) {
          throw messageOf(error).includes('not an integer') ? kvErrors.KV_NOT_A_NUMBER(key) : error
        }
      }),
    async ping(signal) {
      signal?.throwIfAborted()
      const started = clock.monotonic()
      await send(() => abortable(client.ping(), signal))
      return Math.round(clock.monotonic() - started)
    },
    isUnavailable: (error) => isKvUnavailable(error) || isRedisUnavailable(error),
    sweep: () => Promise.resolve(),
    close: () => {
      client.disconnect()
      return Promise.resolve()
    },
  }
}

const unavailable: ReadonlySet<unknown> = new Set(['KV_UNAVAILABLE', 'KV_OUTCOME_UNKNOWN', 'KV_NOT_STARTED'])

export function isKvUnavailable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && unavailable.has(error.code)
}
