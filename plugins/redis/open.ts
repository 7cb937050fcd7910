import { createRequire } from 'node:module'
import type { ClusterOptions, RedisOptions } from 'ioredis'
import { type Logger, messageOf } from 'zin'
import type { RedisClient } from './client.js'
import { redisErrors } from './errors.js'
import { RedisFamily } from './family.js'
import { describeRedis, type RedisTarget } from './target.js'

export type OwnedRedisClient = RedisClient & {
  /** Closes it and its duplicates for good: what they were asked rejects, and so does an attempt to connect one again. */
  closeAll(): void
}

export interface OpenRedisOptions {
  readonly target: RedisTarget
  /** Name of the setting that holds the URL, for messages. */
  readonly setting: string
  /** Shown by CLIENT LIST. */
  readonly name: string
  readonly connectTimeoutMs: number
  readonly log: Logger
  /**
   * `fail-fast`: a command rejects when the connection is down or the answer takes more than 5 s.
   * `patient`: commands wait for the connection to come back, for consumers that have nothing else to do.
   */
  readonly mode: 'fail-fast' | 'patient'
  /** Put before every key. */
  readonly keyPrefix?: string
}

/** Connects within the time given, else throws REDIS_UNAVAILABLE. The client is the caller's to close. */
export async function openRedis(options: OpenRedisOptions): Promise<OwnedRedisClient> {
  const family = new RedisFamily()
  const client = Object.assign(family.adopt(makeClient(options)), { closeAll: () => family.close() })
  let lastError: unknown
  let told = false
  client.on('error', (error: unknown) => {
    lastError = error
    if (!told) options.log.warn({ redis: describeRedis(options.target), reason: messageOf(error) }, 'Redis connection failed, trying again')
    told = true
  })
  client.on('ready', () => {
    if (told) options.log.info({ redis: describeRedis(options.target) }, 'Redis connection is up')
    told = false
  })
  // The outcome is read from the client's state: a first failure does not end its attempts.
  client.connect().catch((error: unknown) => {
    lastError ??= error
  })
  if (await whenReady(client, options.connectTimeoutMs, () => isRefusal(lastError))) return client
  client.closeAll()
  const where = describeRedis(options.target)
  throw isRefusal(lastError)
    ? redisErrors.REDIS_UNAVAILABLE(`${where} refused the log-in: ${messageOf(lastError)}. Correct user and password in ${options.setting}`)
    : redisErrors.REDIS_UNAVAILABLE(
        `${where} could not be reached within ${options.connectTimeoutMs} ms${lastError === undefined ? '' : `: ${reasonOf(lastError)}`}. Start the server, or correct ${options.setting}`,
      )
}

/** True once the client is ready; false when the time is over or it ended. */
export function whenReady(client: RedisClient, limitMs: number, giveUp: () => boolean = () => false): Promise<boolean> {
  if (client.status === 'ready') return Promise.resolve(true)
  return new Promise((resolve) => {
    const end = (ready: boolean): void => {
      clearTimeout(timer)
      client.off('ready', onReady).off('end', onEnd).off('error', onError)
      resolve(ready)
    }
    const onReady = (): void => end(true)
    const onEnd = (): void => end(false)
    const onError = (): void => {
      if (giveUp()) end(false)
    }
    const timer = setTimeout(end, limitMs, false)
    client.on('ready', onReady).on('end', onEnd).on('error', onError)
  })
}

/** Whether an error says that Redis cannot be reached or does not answer. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    code === 'REDIS_UNAVAILABLE' ||
    unavailableCodes.has(code) ||
    unavailableNames.has(error.name) ||
    unavailableText.test(error.message) ||
    (error.cause !== undefined && isRedisUnavailable(error.cause))
  )
}

const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
])
const unavailableNames = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError', 'AbortError', 'ConnectionClosedError'])
const unavailableText =
  /^(Connection is closed|Command timed out|Stream isn't writeable|Cluster isn't ready|LOADING|CLUSTERDOWN|MASTERDOWN|READONLY|OOM|Failed to refresh slots)/

function isRefusal(error: unknown): boolean {
  return error !== undefined && /^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH|ERR invalid password)/.test(messageOf(error))
}

function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  return messageOf(error) || code
}

const commandTimeoutMs = 5000

function makeClient({ target, name, mode, connectTimeoutMs, keyPrefix }: OpenRedisOptions): RedisClient {
  // Not import(), which reads every file twice: once to find the names that it exports.
  const ioredis = createRequire(import.meta.url)('ioredis') as typeof import('ioredis')
  const failFast = mode === 'fail-fast'
  const retry = (times: number): number => Math.min(50 * 2 ** Math.min(times, 6), 2000)
  const common: Omit<RedisOptions, 'replyMapping'> = {
    connectionName: name,
    connectTimeout: Math.min(connectTimeoutMs, 5000),
    enableOfflineQueue: !failFast,
    // 0: what was sent and not answered rejects when the connection breaks; repeating it could count twice.
    maxRetriesPerRequest: failFast ? 0 : null,
    retryStrategy: retry,
    // A socket that was gone before keeps a timer of this length.
    disconnectTimeout: 1000,
    lazyConnect: true,
    // A connection without any response that long is given up: what is sent to a server that hangs would pile up.
    ...(failFast && { commandTimeout: commandTimeoutMs, socketTimeout: commandTimeoutMs }),
    ...(keyPrefix !== undefined && { keyPrefix }),
    ...(target.username !== undefined && { username: target.username }),
    ...(target.password !== undefined && { password: target.password }),
    ...(target.tls && { tls: {} }),
  }
  const [node] = target.nodes
  if (target.kind === 'single') return new ioredis.Redis({ ...common, host: node.host, port: node.port, db: target.db })
  if (target.kind === 'sentinel') {
    return new ioredis.Redis({
      ...common,
      db: target.db,
      sentinels: target.nodes.map((one) => ({ ...one })),
      name: target.master ?? '',
      sentinelRetryStrategy: retry,
      ...(target.tls && { enableTLSForSentinelMode: true }),
      ...(target.sentinelPassword !== undefined && { sentinelPassword: target.sentinelPassword }),
    })
  }
  const { retryStrategy: _retry, lazyConnect, enableOfflineQueue, keyPrefix: _prefix, ...redisOptions } = common
  const cluster: Omit<ClusterOptions, 'redisOptions'> & { redisOptions: typeof redisOptions } = {
    lazyConnect: lazyConnect ?? true,
    enableOfflineQueue: enableOfflineQueue ?? false,
    clusterRetryStrategy: retry,
    redisOptions,
    ...(keyPrefix !== undefined && { keyPrefix }),
    // Certificates name hosts; the addresses that nodes announce would not match them.
    ...(target.tls && { dnsLookup: (address: string, done: (error: null, address: string) => void) => done(null, address) }),
  }
  return new ioredis.Cluster(
    target.nodes.map((one) => ({ ...one })),
    cluster,
  )
}
