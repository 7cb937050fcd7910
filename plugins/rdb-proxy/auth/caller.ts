import type { Context } from 'koa'
import type { Clock, Logger } from 'zin'
import type { RequestNonces } from 'zin/plugins/bulletproof'
import { unauthorized, type WireError } from 'zin/plugins/sql-wire'
import {
  checkBody,
  checkFreshness,
  checkMac,
  type DecoyKey,
  decoyKey,
  isSigned,
  padKeys,
  type SignatureFault,
  type SignatureHeaderNames,
  type SignatureReader,
  sha256Hex,
  signatureReader,
  signedTarget,
} from 'zin/signing'
import type { Keys, ProxyKey } from './keys.js'
import type { Refusals } from './refusals.js'

export interface CallersOptions {
  readonly keys: Keys
  readonly nonces: RequestNonces
  readonly refusals: Refusals
  readonly names: SignatureHeaderNames
  readonly windowMs: number
  /** Whether unsigned requests are refused. */
  readonly required: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** An authenticated request. */
export interface Identified {
  readonly key: ProxyKey
  readonly bytes: Buffer
}

/** Authenticates requests. Every signature fault gets the same 401; the cause is only logged. */
export class Callers {
  readonly #options: CallersOptions
  readonly #read: SignatureReader
  readonly #decoy: DecoyKey = decoyKey()

  constructor(options: CallersOptions) {
    this.#options = options
    this.#read = signatureReader(options.names)
  }

  /**
   * Returns the key that signed the request, and the body, which is read only once the signature matches. Throws UNAUTHORIZED, RATE_LIMITED,
   * or AUTH_STORE_UNAVAILABLE if the nonce store is unavailable.
   *
   * @param admit called with the key once the signature matches, before the nonce is claimed.
   */
  async identify(ctx: Context, body: () => Promise<Buffer>, admit: (key: ProxyKey) => void): Promise<Identified> {
    const { keys, names, required, windowMs, clock, nonces } = this.#options
    if (!isSigned(ctx.req.headers, names)) {
      if (required) throw this.#refuse(ctx, { ok: false, layer: 3, reason: 'the request is not signed' })
      admit(keys.unsigned)
      return { key: keys.unsigned, bytes: await body() }
    }
    const claim = this.#read(ctx.req.rawHeaders)
    if (!claim.ok) throw this.#refuse(ctx, claim)
    const key = keys.find(claim.keyId)
    const candidates = padKeys(key?.secrets ?? [], keys.slots, this.#decoy)
    const late = checkFreshness(claim, clock.now(), windowMs)
    // Koa's `url` may have been rewritten; the client signed the original one.
    const found = checkMac(ctx.req.method ?? '', signedTarget(ctx.originalUrl), claim, candidates, this.#decoy)
    if (late !== undefined) throw this.#refuse(ctx, late, claim.keyId)
    if ('ok' in found || key === undefined) throw this.#refuse(ctx, 'ok' in found ? found : unknownKey, claim.keyId)
    if (claim.deviceId !== undefined && claim.deviceId !== claim.keyId) throw this.#refuse(ctx, otherDevice, claim.keyId)
    const bytes = await body()
    const changed = checkBody(claim, bytes) ?? checkFreshness(claim, clock.now(), windowMs)
    if (changed !== undefined) throw this.#refuse(ctx, changed, claim.keyId)
    admit(key)
    const taking = nonces.claim(`rdb-proxy:${found.id}`, claim)
    const used = taking instanceof Promise ? await taking : taking
    if (used !== undefined) throw this.#refuse(ctx, used, claim.keyId)
    return { key, bytes }
  }

  /** Returns the 401, or throws the 429 of an address with too many refusals, which is not logged. */
  #refuse(ctx: Context, { layer, reason }: SignatureFault, keyId?: string): WireError {
    this.#options.refusals.count(ctx.ip)
    const keyIdHash = keyId === undefined ? '' : sha256Hex(keyId).slice(0, 16)
    this.#options.log.info({ layer, reason, keyIdHash }, 'proxy request refused')
    return unauthorized()
  }
}

const unknownKey: SignatureFault = { ok: false, layer: 6, reason: 'the key id is unknown' }
const otherDevice: SignatureFault = { ok: false, layer: 7, reason: 'the device id differs from the key id' }
