import { createRequire } from 'node:module'
import type { ClusterOptions, RedisOptions } from 'ioredis'
import { type Logger, messageOf } from 'zin'
import type { RedisClient } from './client.js'
import { redisErrors } from './errors.js'
import { RedisFamily } from './family.js'
import { describeRedis, type RedisTarget } from './target.js'

export type OwnedRedisClient = RedisClient & {
  /** Closes it and its duplicates permanently: pending commands and later attempts to connect reject. */
  closeAll(): void
}

export interface OpenRedisOptions {
  readonly target: RedisTarget
  /** Name of the setting that holds the URL, for messages. */
  readonly setting: string
  /** The connection name in CLIENT LIST. */
  readonly name: string
  readonly connectTimeoutMs: number
  readonly log: Logger
  /**
   * `fail-fast`: a command rejects when the connection is down or the reply takes more than 5 s.
   * `patient`: commands wait until the connection is back, for consumers. A blocking command must end within 15 s: a connection without any
   * reply for 20 s is replaced, with all duplicates of the client, and their commands are sent again.
   */
  readonly mode: 'fail-fast' | 'patient'
  /** Prefix of every key. */
  readonly keyPrefix?: string
}

/** Connects before the deadline, otherwise throws REDIS_UNAVAILABLE. The caller must close the client. */
export async function openRedis(options: OpenRedisOptions): Promise<OwnedRedisClient> {
  const family = new RedisFamily({ sharesSilence: options.mode === 'patient' })
  const client = Object.assign(family.adopt(makeClient(options)), { closeAll: () => family.close() })
  let lastError: unknown
  let warned = false
  client.on('error', (error: unknown) => {
    lastError = error
    if (!warned) options.log.warn({ redis: describeRedis(options.target), reason: messageOf(error) }, 'Redis connection failed, retrying')
    warned = true
  })
  client.on('ready', () => {
    if (warned) options.log.info({ redis: describeRedis(options.target) }, 'Redis connection is up')
    warned = false
  })
  // The client's status decides the outcome: it keeps trying after a first failure.
  client.connect().catch((error: unknown) => {
    lastError ??= error
  })
  if (await whenReady(client, options.connectTimeoutMs, () => isRefusal(lastError))) return client
  client.closeAll()
  const where = describeRedis(options.target)
  throw isRefusal(lastError)
    ? redisErrors.REDIS_UNAVAILABLE(`${where} refused the login: ${messageOf(lastError)}. Correct user and password in ${options.setting}`)
    : redisErrors.REDIS_UNAVAILABLE(
        `${where} could not be reached within ${options.connectTimeoutMs} ms${lastError === undefined ? '' : `: ${reasonOf(lastError)}`}. Start the server, or correct ${options.setting}`,
      )
}

/** True once the client is ready; false when the time is up or the client has ended. */
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

/** Whether an error means that Redis is unreachable or does not respond. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    code === 'REDIS_UNAVAILABLE' ||
    unavailableCodes.has(code) ||
    unavailableNames.has(error.name) ||
    unavailableText.test(error.message) ||
    whyAborted(error).some((why) => unavailableText.test(why)) ||
    (error.cause !== undefined && isRedisUnavailable(error.cause))
  )
}

/** Whether an error proves that Redis did not run the command: it was not sent, or it was refused. False after any other failed command. */
export function isRedisUnsent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { readonly code?: unknown }
  return code === 'REDIS_UNAVAILABLE' || [error.message, ...whyAborted(error)].some((why) => unsentText.test(why))
}

/** Why Redis refused commands of a transaction, none of which ran then. ioredis also lists an error among its own earlier ones. */
function whyAborted(error: Error): readonly string[] {
  const aborted = error.message.startsWith('EXECABORT') && 'previousErrors' in error && Array.isArray(error.previousErrors)
  return aborted ? (error.previousErrors as readonly unknown[]).map(messageOf) : []
}

const unsentText = /^(Stream isn't writeable|Cluster isn't ready|Failed to refresh slots|LOADING|CLUSTERDOWN|MASTERDOWN|READONLY|OOM)/

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

/** Above the time for which consumers block. It is noticed up to a ninth later, 20 s after the last reply. */
const silentMs = 18_000

/** Replies of a server that became a replica, lost its master, or is loading: another connection may reach the one that takes its place. */
const replaced = /\b(READONLY|MASTERDOWN|UNBLOCKED|LOADING)\b/
/** How ioredis treats such a reply. */
const reconnect = 1
const reconnectAndResend = 2
/** Least and most time between two such reconnections of a client, in ms, and after how long without one the least counts again. */
const [firstAgainMs, lastAgainMs, calmMs] = [1_000, 5_000, 30_000]

/**
 * Decides whether a client reconnects because of a reply: each reply to the commands in flight says the same, and the server at that address may
 * stay a replica for long. @param now a monotonic time in ms.
 */
export function reconnections(now: () => number = () => performance.now()): (client: object) => boolean {
  const last = new WeakMap<object, { readonly at: number; readonly waitMs: number }>()
  return (client) => {
    const { at, waitMs } = last.get(client) ?? { at: Number.NEGATIVE_INFINITY, waitMs: 0 }
    const passed = now() - at
    if (passed < waitMs) return false
    last.set(client, { at: now(), waitMs: passed > calmMs ? firstAgainMs : Math.min(2 * waitMs, lastAgainMs) })
    return true
  }
}

function makeClient({ target, name, mode, connectTimeoutMs, keyPrefix }: OpenRedisOptions): RedisClient {
  // Not import(), which reads every file twice: once to find its exported names.
  const ioredis = createRequire(import.meta.url)('ioredis') as typeof import('ioredis')
  const failFast = mode === 'fail-fast'
  const retry = (times: number): number => Math.min(50 * 2 ** Math.min(times, 6), 2000)
  const mayReconnect = reconnections()
  const common: Omit<RedisOptions, 'replyMapping'> = {
    connectionName: name,
    connectTimeout: Math.min(connectTimeoutMs, 5000),
    enableOfflineQueue: !failFast,
    // 0: commands in flight reject when the connection breaks, because a retry could apply them twice.
    maxRetriesPerRequest: failFast ? 0 : null,
    retryStrategy: retry,
    // A socket that was already closed keeps a timer of this length.
    disconnectTimeout: 1000,
    lazyConnect: true,
    // A connection without any reply for that long is closed: commands to a hung server would pile up, and a firewall that has lost its
    // state drops what is sent without closing anything.
    socketTimeout: failFast ? commandTimeoutMs : silentMs,
    ...(failFast && { commandTimeout: commandTimeoutMs }),
    // The server has not run the command. `this` are the options of one client: duplicates have copies.
    reconnectOnError(this: object, { message }) {
      return replaced.test(message) && mayReconnect(this) && (failFast ? reconnect : reconnectAndResend)
    },
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
    // As above: with a delay, the client would resend commands whose connection broke.
    ...(failFast && { retryDelayOnFailover: 0 }),
    redisOptions,
    ...(keyPrefix !== undefined && { keyPrefix }),
    // Certificates are issued for host names; the addresses that nodes report would not match them.
    ...(target.tls && { dnsLookup: (address: string, done: (error: null, address: string) => void) => done(null, address) }),
  }
  return new ioredis.Cluster(
    target.nodes.map((one) => ({ ...one })),
    cluster,
  )
}
