import { randomUUID } from 'node:crypto'
import { checkClock, type Finding, type Logger, type StoreInfo } from 'zin'
import { type OwnedRedisClient, openRedis } from './open.js'
import { describeRedis, type RedisTarget } from './target.js'

export interface RedisStoreInfoOptions {
  readonly target: RedisTarget
  readonly connectTimeoutMs: number
  /** Prefix of the keys that the app writes. */
  readonly keyPrefix: string
  /** Whether Redis must not drop keys when its memory is full. */
  readonly strict: boolean
  readonly log: Logger
}

/** How long a check waits for a connection at most, in ms. */
const mostConnectMs = 5_000
/** How long the key of a check is kept if it cannot be deleted, in seconds. */
const probeSeconds = 10

/** Redis for `zin info` and `zin doctor`: whether it responds, lets the account read and write, keeps its keys, and has the right time. */
export function redisStoreInfo({ target, connectTimeoutMs, keyPrefix, strict, log }: RedisStoreInfoOptions): StoreInfo {
  const where = describeRedis(target)
  return {
    where,
    async check() {
      const client = await openRedis({
        target,
        setting: 'REDIS_URL',
        name: 'zin-doctor',
        connectTimeoutMs: Math.min(connectTimeoutMs, mostConnectMs),
        log: log.child({ store: where }),
        mode: 'fail-fast',
        keyPrefix,
      })
      try {
        const info = await client.info().catch(() => '')
        const version = /^redis_version:(\S+)/m.exec(info)?.[1]
        const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
        // Before a write: a replica that refuses it is left by the client, which connects again.
        const clock = await checkClock(where, async () => {
          const [seconds = 0, micros = 0] = await client.time()
          return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
        })
        return [
          { check: where, message: `it responds${version === undefined ? '' : `, version ${version}`}` },
          await checkAccount(client, where),
          ...(policy === undefined ? [] : [policyFinding(where, policy, strict)]),
          clock,
        ]
      } finally {
        client.closeAll()
      }
    },
  }
}

async function checkAccount(client: OwnedRedisClient, where: string): Promise<Finding> {
  const check = `permissions in ${where}`
  const key = `zin-doctor:${randomUUID()}`
  const failure = async (): Promise<unknown> => {
    try {
      await client.set(key, '1', 'EX', probeSeconds)
      const read = await client.get(key)
      await client.del(key)
      return read === '1' ? undefined : new Error('a key that was written could not be read')
    } catch (error) {
      return error
    }
  }
  const error = await failure()
  if (error === undefined) return { check, message: 'the account can read and write' }
  const message = error instanceof Error ? error.message : String(error)
  return { check, message: `reading or writing a key failed: ${message}`, fix: fixOf(message) }
}

function fixOf(message: string): string {
  if (message.startsWith('NOPERM')) return 'Allow the user of REDIS_URL all keys and commands of the app (ACL SETUSER)'
  if (message.startsWith('READONLY')) return 'Set REDIS_URL to the master, not to a replica'
  if (message.startsWith('OOM')) return 'Give Redis more memory (maxmemory), or delete data'
  return 'Do what the message of Redis says'
}

function policyFinding(where: string, policy: string, strict: boolean): Finding {
  const finding = { check: `memory of ${where}`, message: `maxmemory-policy is ${policy}` }
  const isRight = policy === 'noeviction'
  if (isRight) return finding
  if (!strict) return { ...finding, message: `${finding.message}; in production it must be noeviction` }
  return { ...finding, fix: 'Set maxmemory-policy to noeviction; otherwise jobs and keys can be lost' }
}
