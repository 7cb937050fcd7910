import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Counters } from './counters.js'
import { rateLimited } from './errors.js'

export interface ThrottleLimits {
  readonly attemptsPerMinute: number
  readonly attemptsPerHour: number
  readonly addressAttemptsPerMinute: number
  readonly addressAttemptsPerHour: number
}

/** Bounds how often credentials may be tried. */
export interface Throttle {
  /** Counts an attempt before it is made. Throws RATE_LIMITED when a limit is passed. */
  attempt(email: string, address: string): Promise<void>
  /** Forgets the attempts for this email from this address. */
  succeeded(email: string, address: string): Promise<void>
}

const minute = 60_000
const hour = 3_600_000

interface Bucket {
  readonly key: string
  readonly windowMs: number
  readonly limit: number
}

export function createThrottle(counters: Counters, limits: ThrottleLimits): Throttle {
  const accountBuckets = (email: string, address: string): readonly Bucket[] => {
    const key = `login:account:${digest(`${email.toLowerCase()}\n${network(address)}`)}`
    return [
      { key: `${key}:minute`, windowMs: minute, limit: limits.attemptsPerMinute },
      { key: `${key}:hour`, windowMs: hour, limit: limits.attemptsPerHour },
    ]
  }
  const addressBuckets = (address: string): readonly Bucket[] => {
    const key = `login:address:${network(address)}`
    return [
      { key: `${key}:minute`, windowMs: minute, limit: limits.addressAttemptsPerMinute },
      { key: `${key}:hour`, windowMs: hour, limit: limits.addressAttemptsPerHour },
    ]
  }
  const exhausted = async ({ key, windowMs, limit }: Bucket): Promise<number> =>
    (await counters.add(key, windowMs)) > limit ? counters.remaining(key, windowMs) : 0

  return {
    async attempt(email, address) {
      // Counted before the check: parallel attempts must not pass a limit together. One bucket after the other: what a
      // short window turns away does not use up the long one.
      for (const bucket of [...addressBuckets(address), ...accountBuckets(email, address)]) {
        const wait = await exhausted(bucket)
        if (wait > 0) throw rateLimited(wait)
      }
    },
    succeeded: (email, address) => counters.clear(accountBuckets(email, address).map(({ key }) => key)),
  }
}

/** An IPv4 address, or the /64 of an IPv6 one: whoever has one address of it has them all. */
function network(given: string): string {
  const address = withoutPort(given)
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toNormalizedString().split(':').slice(0, 4).join(':')
}

/** Some balancers write `address:port` or `[address]:port` into X-Forwarded-For. */
function withoutPort(address: string): string {
  const parts = /^(?:\[(.+)\]|(\d+(?:\.\d+){3}))(?::\d+)?$/.exec(address)
  return parts?.[1] ?? parts?.[2] ?? address
}

/** Keeps keys short, and emails out of the store. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
