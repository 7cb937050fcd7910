import type { JSONWebKeySet, LocalJWKSet } from 'jose'
import { type Clock, type Logger, messageOf } from 'zin'
import { VerifiedTokens } from 'zin/plugins/jwt'
import { jwksErrors } from './errors.js'

export interface IssuerKeysParts {
  readonly issuer: string
  readonly fetch: () => Promise<JSONWebKeySet>
  /** `createLocalJWKSet` of jose. */
  readonly toSet: (keys: JSONWebKeySet) => LocalJWKSet
  /** ms. */
  readonly cacheMs: number
  /** ms. */
  readonly staleMs: number
  /** ms. */
  readonly cooldownMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** The keys of an issuer at one time, and the tokens that they verified. */
export interface KeysInForce {
  readonly set: LocalJWKSet
  readonly verified: VerifiedTokens
}

interface Fetched extends KeysInForce {
  /** The keys as text, to see whether they changed. */
  readonly text: string
  readonly at: number
}

/**
 * Caches the keys of an issuer. Old keys are used while new ones are fetched, and while the issuer does not respond, both for a limited
 * time. However many requests wait, there is one fetch at a time, and after a failed one none for the cooldown.
 */
export class IssuerKeys {
  readonly #parts: IssuerKeysParts
  #fetched: Fetched | undefined
  #fetching: Promise<void> | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  #problem = 'they were not fetched yet'

  constructor(parts: IssuerKeysParts) {
    this.#parts = parts
  }

  /** Throws JWKS_UNAVAILABLE when there are none that may be used. */
  async current(): Promise<KeysInForce> {
    const { issuer, cacheMs, staleMs } = this.#parts
    const age = this.#age()
    if (age >= cacheMs && this.#mayFetch()) {
      const fetching = this.#fetch()
      if (age >= staleMs) await fetching
    } else if (age >= staleMs) await this.#fetching
    const fetched = this.#fetched
    if (fetched === undefined || this.#age() >= staleMs) throw jwksErrors.JWKS_UNAVAILABLE(issuer, this.#problem)
    return fetched
  }

  /** The keys after another fetch, for a token that no known key verifies; `undefined` if they are the same or it is too early to fetch. */
  async newer(than: KeysInForce): Promise<KeysInForce | undefined> {
    if (this.#mayFetch()) void this.#fetch()
    await this.#fetching
    return this.#fetched === than || this.#fetched?.set === than.set ? undefined : this.#fetched
  }

  /** Resolves when no fetch runs. */
  async settled(): Promise<void> {
    await this.#fetching
  }

  #age(): number {
    return this.#fetched === undefined ? Number.POSITIVE_INFINITY : this.#parts.clock.monotonic() - this.#fetched.at
  }

  #mayFetch(): boolean {
    return this.#fetching === undefined && this.#parts.clock.monotonic() - this.#triedAt >= this.#parts.cooldownMs
  }

  #fetch(): Promise<void> {
    this.#triedAt = this.#parts.clock.monotonic()
    this.#fetching = this.#load().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #load(): Promise<void> {
    const { clock, fetch, issuer, log, toSet } = this.#parts
    try {
      const keys = await fetch()
      const text = JSON.stringify(keys)
      const at = clock.monotonic()
      const known = this.#fetched
      // Tokens that a withdrawn key verified are forgotten with it.
      this.#fetched = known?.text === text ? { ...known, at } : { text, at, set: toSet(keys), verified: new VerifiedTokens() }
      if (known !== undefined && known.text !== text) log.info({ issuer, keys: keys.keys.length }, 'the keys of the issuer changed')
    } catch (error) {
      this.#problem = messageOf(error)
      log.warn({ issuer, reason: this.#problem, hasOldKeys: this.#fetched !== undefined }, 'the keys of the issuer could not be fetched')
    }
  }
}
