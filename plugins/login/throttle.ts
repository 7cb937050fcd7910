import { clientNetwork } from 'zin'
import { sha256Hex } from 'zin/signing'
import type { Counters } from './counters.js'
import { canonicalEmail } from './email.js'
import { loginErrors } from './errors.js'

export interface ThrottleLimits {
  readonly attemptsPerMinute: number
  readonly attemptsPerHour: number
  readonly addressAttemptsPerMinute: number
  readonly addressAttemptsPerHour: number
  readonly accountAttemptsPerMinute: number
}

/** The origin of an attempt. */
export interface Origin {
  readonly address: string
  /** The device id that the client sends. */
  readonly deviceId?: string | undefined
}

/** Limits login attempts. */
export interface Throttle {
  /** Counts an attempt before it is made. Throws RATE_LIMITED without counting when a limit is exceeded. */
  attempt(email: string, origin: Origin): Promise<void>
  /** Clears the attempts for this email from this address, and marks address and device as known for the next 30 days. */
  succeeded(email: string, origin: Origin): Promise<void>
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const knownForMs = 30 * day

interface Bucket {
  readonly key: string
  readonly windowMs: number
  readonly limit: number
}

export function createThrottle(counters: Counters, limits: ThrottleLimits): Throttle {
  const accountBuckets = (email: string, address: string): readonly Bucket[] => {
    const key = `login:account:${digest(`${canonicalEmail(email)}\n${clientNetwork(address)}`)}`
    return [
      { key: `${key}:minute`, windowMs: minute, limit: limits.attemptsPerMinute },
      { key: `${key}:hour`, windowMs: hour, limit: limits.attemptsPerHour },
    ]
  }
  const addressBuckets = (address: string): readonly Bucket[] => {
    const key = `login:address:${clientNetwork(address)}`
    return [
      { key: `${key}:minute`, windowMs: minute, limit: limits.addressAttemptsPerMinute },
      { key: `${key}:hour`, windowMs: hour, limit: limits.addressAttemptsPerHour },
    ]
  }
  /** Marks that the user has logged in from this address, and with this device. */
  const knownKeys = (email: string, { address, deviceId }: Origin): readonly string[] =>
    [`address\n${clientNetwork(address)}`, ...(deviceId === undefined ? [] : [`device\n${deviceId}`])].map(
      (from) => `login:known:${digest(`${canonicalEmail(email)}\n${from}`)}`,
    )
  /**
   * One bucket for all unknown addresses together, and one for each known address or device, which an attacker cannot use up. The
   * window is short, so that an attack blocks a user at a new address no longer than it lasts.
   */
  const everywhereBucket = (email: string, known: string | undefined): Bucket => {
    const key = `login:everywhere:${known ?? digest(canonicalEmail(email))}:minute`
    return { key, windowMs: minute, limit: limits.accountAttemptsPerMinute }
  }
  const exhausted = async ({ key, windowMs, limit }: Bucket): Promise<number> =>
    (await counters.add(key, windowMs)) > limit ? counters.remaining(key, windowMs) : 0

  return {
    async attempt(email, origin) {
      const known = knownKeys(email, origin)
      const own = [...addressBuckets(origin.address), ...accountBuckets(email, origin.address)]
      const everywhere = [undefined, ...known].map((key) => everywhereBucket(email, key))
      const sums = await counters.sums([...known, ...[...own, ...everywhere].map(({ key }) => key)])
      const buckets = [
        ...own,
        everywhereBucket(
          email,
          known.find((key) => sums.has(key)),
        ),
      ]
      // Read first, so that a refused attempt writes nothing.
      const full = buckets.filter(({ key, limit }) => (sums.get(key) ?? 0) >= limit)
      const waits = await Promise.all(full.map(({ key, windowMs }) => counters.remaining(key, windowMs)))
      if (waits.length > 0) throw loginErrors.RATE_LIMITED(Math.max(...waits))
      // Counted before the check, so that parallel attempts cannot exceed a limit together. One bucket after the other: an attempt
      // that the short window refuses does not use up the long one.
      for (const bucket of buckets) {
        const wait = await exhausted(bucket)
        if (wait > 0) throw loginErrors.RATE_LIMITED(wait)
      }
    },
    async succeeded(email, origin) {
      const known = knownKeys(email, origin)
      // Not the shared bucket, which contains attempts of others.
      const own = [...accountBuckets(email, origin.address), ...known.map((key) => everywhereBucket(email, key))]
      await counters.clear(own.map(({ key }) => key))
      await Promise.all(known.map((key) => counters.mark(key, knownForMs)))
    },
  }
}

/** Keeps keys short and emails out of the store. */
function digest(text: string): string {
  return sha256Hex(text).slice(0, 32)
}
