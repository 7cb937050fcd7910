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
  /** Unsigned requests are refused. */
  readonly required: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** A request whose caller is known. */
export interface Identified {
  readonly key: ProxyKey
  readonly bytes: Buffer
}

/** Finds out who sends a request. Every fault of a signature is the same 401; its cause goes to the log alone. */
export class Callers {
  readonly #options: CallersOptions
  readonly #read: SignatureReader
  readonly #decoy: DecoyKey = decoyKey()

  constructor(options: CallersOptions) {
    this.#options = options
    this.#read = signatureReader(options.names)
  }

  /**
   * The key that signed the request, and its body, which is read only when its signature matches. Throws UNAUTHORIZED, RATE_LIMITED, or AUTH_STORE_UNAVAILABLE when
   * the store of nonces is.
   *
   * @param admit called with the key once the signature matches, and before the nonce is taken.
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
    // Koa's own url may have been rewritten; what was signed is what came.
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

  /** The 401, or the 429 of an address that had too many; those are not logged one by one. */
  #refuse(ctx: Context, { layer, reason }: SignatureFault, keyId?: string): WireError {
    this.#options.refusals.count(ctx.ip)
    const keyIdHash = keyId === undefined ? '' : sha256Hex(keyId).slice(0, 16)
    this.#options.log.info({ layer, reason, keyIdHash }, 'proxy request refused')
    return unauthorized()
  }
}

const unknownKey: SignatureFault = { ok: false, layer: 6, reason: 'the key id is unknown' }
const otherDevice: SignatureFault = { ok: false, layer: 7, reason: 'the device id is not the key id' }
