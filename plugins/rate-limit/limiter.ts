import type * as Package from 'rate-limiter-flexible'
import type { Clock } from 'zin'
import type { Count, Counters } from './counters.js'
import { rateLimitErrors } from './errors.js'
import type { Quota } from './headers.js'
import type { Rule } from './rules.js'

/** Counts requests of callers for one limit. */
export interface Limiter {
  /** Counts a request. `isOver`: the caller has used up the limit. Throws RATE_LIMIT_STORE_UNAVAILABLE if there is no fallback. */
  count(caller: string): Promise<Quota & { readonly isOver: boolean }>
}

export interface LimiterParts {
  readonly counters: Counters
  /** Counts while `counters` fail. */
  readonly fallback: Counters | undefined
  readonly clock: Clock
}

/** Most callers that are refused without asking the store. */
const maxRefused = 10_000

/** Returns a function that creates limiters from the package `rate-limiter-flexible`, on counters of ours. */
export function limiters({ RateLimiterRedis, RateLimiterRes }: typeof Package): (rule: Rule, parts: LimiterParts) => Limiter {
  // The class of all its stores, which its types name and its module does not export.
  const RateLimiterStoreAbstract = Object.getPrototypeOf(RateLimiterRedis) as typeof Package.RateLimiterStoreAbstract

  /** A store of the package: it calls these methods. Its own ones keep a timer per key, or windows of whole seconds. */
  class CountersLimiter extends RateLimiterStoreAbstract {
    readonly #counters: Counters

    constructor({ name, limit, windowMs }: Rule, counters: Counters, insuranceLimiter?: Package.RateLimiterAbstract) {
      const options = { storeClient: counters, points: limit, duration: windowMs / 1000, keyPrefix: name }
      super(insuranceLimiter === undefined ? options : { ...options, insuranceLimiter })
      this.#counters = counters
    }

    _upsert(key: string, points: number, windowMs: number): Promise<Count> {
      return this.#counters.add(key, points, Math.round(windowMs))
    }

    _getRateLimiterRes(_key: string, added: number, { sum, leftMs }: Count): Package.RateLimiterRes {
      return new RateLimiterRes(Math.max(0, this.points - sum), leftMs, sum, sum === added)
    }
  }

  return (rule, { counters, fallback, clock }) => {
    const limiter = new CountersLimiter(rule, counters, fallback && new CountersLimiter(rule, fallback))
    /** When the windows of refused callers end: they cost the store nothing until then. */
    const refused = new Map<string, number>()

    const refusedFor = (caller: string): number => {
      const end = refused.get(caller)
      if (end === undefined) return 0
      const leftMs = end - clock.monotonic()
      if (leftMs <= 0) refused.delete(caller)
      return leftMs
    }
    const refuse = (caller: string, leftMs: number): void => {
      refused.delete(caller)
      refused.set(caller, clock.monotonic() + leftMs)
      if (refused.size > maxRefused) refused.delete(refused.keys().next().value as string)
    }

    return {
      async count(caller) {
        const waits = refusedFor(caller)
        if (waits > 0) return { rule, remaining: 0, leftMs: waits, isOver: true }
        const result = await limiter.consume(caller).catch((thrown: unknown) => {
          // The package rejects with the count of a caller that is over the limit.
          if (thrown instanceof RateLimiterRes) return thrown
          throw rateLimitErrors.RATE_LIMIT_STORE_UNAVAILABLE(thrown)
        })
        const { consumedPoints, remainingPoints: remaining, msBeforeNext: leftMs } = result
        const isOver = consumedPoints > rule.limit
        if (isOver) refuse(caller, leftMs)
        return { rule, remaining, leftMs, isOver }
      },
    }
  }
}
