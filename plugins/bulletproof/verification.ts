import {
  type Clock,
  checkBindings,
  checkBody,
  checkFence,
  checkFreshness,
  checkMac,
  checkOwner,
  checkProfile,
  type DecoyKey,
  decoyKey,
  padKeys,
  readSignature,
  replayed,
  type SignatureClaim,
  type SignatureFault,
  type SignatureHeaderNames,
  signedTarget,
} from 'zin'
import type { Claims, Tokens } from 'zin/plugins/jwt'
import type { Kv } from 'zin/plugins/kv'
import { needingStore } from './errors.js'
import type { Candidates, Secrets } from './secrets.js'
import type { Refusal, SignedBy, SignedUser, Signer } from './signed-requests.js'
import type { DeviceRecord, DeviceStore } from './store/devices/contract.js'
import { type Lookup, ownLookup, readTogether } from './store/lookup.js'
import { type NonceGlance, nonceKey } from './store/nonces/contract.js'
import type { LastingNonces } from './store/nonces/lasting.js'

/** What the checks need of a request. */
export interface Incoming {
  readonly method: string
  /** The request line's target as it came. */
  readonly target: string
  /** Names and values in turn, repeats kept. */
  readonly rawHeaders: readonly string[]
  /** Claims, when an earlier middleware of the same request verified the token. */
  readonly verified: Claims | undefined
  /** The bytes of the wire; called only after the signature fits. */
  body(): Promise<Uint8Array>
}

export interface VerificationParts {
  readonly names: SignatureHeaderNames
  readonly windowMs: number
  readonly signedPathPrefix: string
  /** Empty for the `Host` that came. */
  readonly signedAuthority: string
  readonly slots: number
  readonly clock: Clock
  readonly tokens: Pick<Tokens, 'verify' | 'revocationKeys' | 'isRevokedBy'>
  readonly kv: () => Pick<Kv, 'getMany'> | undefined
  readonly devices: DeviceStore
  readonly nonces: LastingNonces
  readonly secrets: Secrets
  /** Hears of every device that proved itself. */
  readonly seen: (device: DeviceRecord) => void
}

const bearer = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i

/**
 * The checks in their order of work: what costs nothing first, then one read of the stores, then the MAC, and only for a
 * request whose MAC fits its body, and last the nonce, which exactly one copy of the request gets.
 */
export class Verification {
  readonly #parts: VerificationParts
  readonly #decoy: DecoyKey = decoyKey()

  constructor(parts: VerificationParts) {
    this.#parts = parts
  }

  /** All nine layers. */
  async authenticate(request: Incoming): Promise<SignedUser | Refusal> {
    const { tokens } = this.#parts
    const claims = request.verified ?? this.#claimsOf(request)
    if ('ok' in claims && claims.ok === false) return claims as Refusal
    const user = claims as Claims
    const claim = readSignature(request.rawHeaders, this.#parts.names)
    if (!claim.ok) return claim
    const revocation = { keys: tokens.revocationKeys(user), read: (values: readonly (string | null)[]) => tokens.isRevokedBy(user, values) }
    const { revoked, device, glance, candidates } = await this.#read(claim, revocation, true)
    if (revoked) return { ok: false, layer: 2, reason: 'the token is revoked' }
    const bind = (signer: Signer): SignatureFault | undefined =>
      allowedProfile(claim, device) ?? checkBindings(claim, user) ?? (signer.userId === undefined ? undefined : checkOwner(signer.userId, user.sub))
    const result = await this.#prove(request, claim, glance, candidates, bind)
    if (!result.ok) return result
    await this.#accepted(claim, device)
    return { ...result, claims: user }
  }

  /** Layers 3 to 7 without a token. */
  async verify(request: Incoming, from: readonly ('shared' | 'device')[]): Promise<SignedBy | Refusal> {
    const claim = readSignature(request.rawHeaders, this.#parts.names)
    if (!claim.ok) return claim
    const { device, glance, candidates } = await this.#read(
      claim,
      ownLookup(() => false),
      from.includes('device'),
    )
    const allowed = candidates.signer.kind === 'device' || from.includes('shared') ? candidates : { ...candidates, keys: [] }
    // The specification's proxies need no device id; one that is there must still be the key id.
    const bind = (): SignatureFault | undefined =>
      allowedProfile(claim, device) ?? (claim.deviceId === undefined ? undefined : checkBindings(claim, {}))
    const result = await this.#prove(request, claim, glance, allowed, bind)
    if (result.ok) await this.#accepted(claim, device)
    return result
  }

  /** The pin is written before the answer, so that a client that saw one accepted request is safe from a downgrade. */
  async #accepted(claim: SignatureClaim, device: DeviceRecord | undefined): Promise<void> {
    if (device === undefined) return
    if (claim.profile === 'rfc9421' && device.profile === 'v1') await needingStore(() => this.#parts.devices.pin(device.deviceId))
    this.#parts.seen(device)
  }

  #claimsOf(request: Incoming): Claims | Refusal {
    const values = request.rawHeaders.filter(
      (_, index) => index % 2 === 1 && request.rawHeaders[index - 1]?.toLowerCase() === 'authorization',
    )
    const token = values.length === 1 ? bearer.exec(values[0] as string)?.[1] : undefined
    if (token === undefined) return { ok: false, layer: 1, reason: 'there is no one bearer token' }
    try {
      return this.#parts.tokens.verify(token)
    } catch {
      return { ok: false, layer: 1, reason: 'the token does not verify' }
    }
  }

  #read(claim: SignatureClaim, revocation: Lookup<boolean>, devices: boolean) {
    const { nonces, secrets, clock } = this.#parts
    return needingStore(async () => {
      const [revoked, device, glance] = await readTogether(
        this.#parts.kv(),
        revocation,
        devices ? this.#parts.devices.find(claim.keyId) : ownLookup(() => undefined),
        nonces.glance(devices ? [nonceKey(`device:${claim.keyId}`, claim.nonce)] : []),
      )
      const candidates =
        devices && !revoked ? await secrets.find(claim.keyId, device, clock.now()) : secrets.shared(claim.keyId, clock.now())
      return { revoked, device, glance, candidates }
    })
  }

  async #prove(
    request: Incoming,
    claim: SignatureClaim,
    glance: NonceGlance,
    { keys, signer }: Candidates,
    bind: (signer: Signer) => SignatureFault | undefined,
  ): Promise<SignedBy | Refusal> {
    const { windowMs, signedPathPrefix, signedAuthority, slots, clock, nonces } = this.#parts
    const early = checkFreshness(claim, clock.now(), windowMs) ?? checkFence(claim, glance.birth) ?? (glance.seen ? replayed : undefined)
    if (early !== undefined) return early
    const found = checkMac(
      request.method,
      signedTarget(request.target, signedPathPrefix, signedAuthority),
      claim,
      padKeys(keys, slots, this.#decoy),
      this.#decoy,
    )
    if ('ok' in found) return found
    const unbound = bind(signer)
    if (unbound !== undefined) return unbound
    const changed = checkBody(claim, await request.body())
    if (changed !== undefined) return changed
    // A slow body must not carry a request past its time.
    const late = checkFreshness(claim, clock.now(), windowMs)
    if (late !== undefined) return late
    const credential = signer.kind === 'device' ? `device:${signer.keyId}` : `key:${found.id}`
    const first = await needingStore(() => nonces.claim(nonceKey(credential, claim.nonce), Number(claim.timestamp), glance.birth))
    return first ? { ok: true, signer } : replayed
  }
}

function allowedProfile(claim: SignatureClaim, device: DeviceRecord | undefined): SignatureFault | undefined {
  return checkProfile(claim, device?.profile ?? 'v1')
}
