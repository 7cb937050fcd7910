import type { Access, Clock, WaitBudget } from 'zin'
import type { Claims, Tokens } from 'zin/plugins/jwt'
import type { Kv } from 'zin/plugins/kv'
import {
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
  replayed,
  type SignatureClaim,
  type SignatureFault,
  type SignatureHeaderNames,
  type SignatureProfile,
  type SignatureReader,
  signatureReader,
  signedTarget,
} from 'zin/signing'
import type { Refusal, SignedBy, SignedUser, Signer } from './contract.js'
import { needingStore } from './errors.js'
import { after, type Pending } from './pending.js'
import type { Candidates, Secrets } from './secrets.js'
import type { DeviceRecord, DeviceStore } from './store/devices/contract.js'
import { type Lookup, ownLookup, readOne, readTogether } from './store/lookup.js'
import { type NonceGlance, nonceKey } from './store/nonces/contract.js'
import type { LastingNonces } from './store/nonces/lasting.js'

/** What the checks need of a request. */
export interface Incoming {
  readonly method: string
  /** The request line's target as it came. */
  readonly target: string
  /** Names and values in turn, repeats kept. */
  readonly rawHeaders: readonly string[]
  /** What the request may wait for stores. */
  readonly waits: WaitBudget
  /** The raw bytes; called only after the signature is verified. */
  body(): Pending<Uint8Array>
}

export interface VerificationParts {
  readonly names: SignatureHeaderNames
  readonly windowMs: number
  readonly signedPathPrefix: string
  /** Empty for the `Host` that came. */
  readonly signedAuthority: string
  readonly slots: number
  readonly clock: Clock
  readonly tokens: Pick<Tokens, 'verify' | 'revocationKeys' | 'isRevokedBy' | 'access'>
  readonly kv: () => Pick<Kv, 'getMany'> | undefined
  readonly devices: DeviceStore
  readonly nonces: LastingNonces
  readonly secrets: Secrets
  /** Hears of every device that proved itself. */
  readonly seen: (device: DeviceRecord) => void
}

/** When the body took longer than this, in ms, everything is asked again. A sign-out that comes in less is as one that came after. */
const slowBodyMs = 1_000

const AUTHORIZATION = 'authorization'
const bearer = /^Bearer /i
const BEARER_LENGTH = 7

/**
 * The checks in their order of work: what costs nothing first, then one read of the stores, then the MAC, and only for a
 * request whose MAC matches its body, and last the nonce, which exactly one copy of the request gets.
 */
export class Verification {
  readonly #parts: VerificationParts
  readonly #decoy: DecoyKey = decoyKey()
  readonly #readSignature: SignatureReader

  constructor(parts: VerificationParts) {
    this.#parts = parts
    this.#readSignature = signatureReader(parts.names)
  }

  /** All nine layers. */
  authenticate(request: Incoming): Pending<SignedUser | Refusal> {
    const { tokens } = this.#parts
    const user = this.#claimsOf(request)
    if (typeof user === 'string') return { ok: false, layer: 1, reason: user }
    const claim = this.#readSignature(request.rawHeaders)
    if (!claim.ok) return claim
    const revocation = { keys: tokens.revocationKeys(user), read: (values: readonly (string | null)[]) => tokens.isRevokedBy(user, values) }
    return after(this.#read(request, claim, revocation, true), (found) => {
      if (found.revoked) return { ok: false, layer: 2, reason: 'the token is revoked' }
      const bind = (signer: Signer): SignatureFault | undefined =>
        allowedProfile(claim, found.device) ??
        checkBindings(claim, user) ??
        (signer.userId === undefined ? undefined : checkOwner(signer.userId, user.sub))
      return this.#prove(request, claim, found, {
        bind,
        accept: (signer) => ({ ok: true, signer, claims: user }),
        again: (later) => this.authenticate(later),
      })
    })
  }

  /** Layers 3 to 7 without a token. */
  async verify(request: Incoming, from: readonly ('shared' | 'device')[], weakest: SignatureProfile): Promise<SignedBy | Refusal> {
    const claim = this.#readSignature(request.rawHeaders)
    if (!claim.ok) return claim
    const found = await this.#read(
      request,
      claim,
      ownLookup(() => false),
      from.includes('device'),
    )
    const { device, candidates } = found
    const allowed = candidates.signer.kind === 'device' || from.includes('shared') ? candidates : { ...candidates, keys: [] }
    // The specification's proxies need no device id; one that is there must still be the key id.
    const bind = (): SignatureFault | undefined =>
      checkProfile(claim, weakest) ?? allowedProfile(claim, device) ?? (claim.deviceId === undefined ? undefined : checkBindings(claim, {}))
    return this.#prove<SignedBy>(
      request,
      claim,
      { ...found, candidates: allowed },
      { bind, accept: (signer) => ({ ok: true, signer }), again: (later) => this.verify(later, from, weakest) },
    )
  }

  /** The access of an accepted request: by its token, and by its device while that is in use. */
  accessOf({ claims, signer }: SignedUser): Access {
    const token = this.#parts.tokens.access(claims)
    if (signer.kind !== 'device') return token
    return { lastsMs: token.lastsMs, holds: async () => (await token.holds()) && this.#isInUse(signer) }
  }

  async #isInUse({ keyId, userId }: Signer): Promise<boolean> {
    const device = await needingStore(() => readOne(this.#parts.kv(), this.#parts.devices.find(keyId)))
    return device !== undefined && device.removedAt === undefined && device.userId === userId
  }

  /** The pin is written before the response: a client that saw one accepted request is safe from a downgrade. */
  #accepted({ waits }: Incoming, claim: SignatureClaim, device: DeviceRecord | undefined): Pending<void> {
    if (device === undefined) return
    const pins = claim.profile === 'rfc9421' && device.profile === 'v1'
    return after(pins ? needingStore(() => this.#parts.devices.pin(device.deviceId), waits) : undefined, () => this.#parts.seen(device))
  }

  /** The claims, or why there are none. */
  #claimsOf(request: Incoming): Claims | string {
    const token = oneToken(request.rawHeaders)
    if (token === undefined) return 'the request does not have exactly one bearer token'
    try {
      return this.#parts.tokens.verify(token)
    } catch {
      return 'the token does not verify'
    }
  }

  #read({ waits }: Incoming, claim: SignatureClaim, revocation: Lookup<boolean>, devices: boolean): Pending<Found> {
    const { nonces, secrets, clock } = this.#parts
    const ofDevice = devices ? nonceKey(`device:${claim.keyId}`, claim.nonce) : undefined
    return needingStore<Found>(() => {
      const reads = readTogether(
        this.#parts.kv(),
        revocation,
        devices ? this.#parts.devices.find(claim.keyId) : ownLookup(() => undefined),
        nonces.glance(ofDevice === undefined ? [] : [ofDevice]),
      )
      return after(reads, ([revoked, device, glance]) => {
        const candidates = devices && !revoked ? secrets.find(claim.keyId, device, clock.now()) : secrets.shared(claim.keyId, clock.now())
        return after(candidates, (candidates) => ({ revoked, device, glance, candidates, ofDevice }))
      })
    }, waits)
  }

  /** What follows the body is one step, so that a request whose stores are in memory waits for its body and for nothing else. */
  #prove<R extends SignedBy>(
    request: Incoming,
    claim: SignatureClaim,
    { device, glance, candidates, ofDevice }: Found,
    { bind, accept, again }: Steps<R>,
  ): Pending<R | Refusal> {
    const { windowMs, signedPathPrefix, signedAuthority, slots, clock, nonces } = this.#parts
    const { keys, signer } = candidates
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
    const asked = clock.monotonic()
    return after(request.body(), (body) => {
      if (clock.monotonic() - asked > slowBodyMs) return again(withBody(request, body))
      const changed = checkBody(claim, body)
      if (changed !== undefined) return changed
      const late = checkFreshness(claim, clock.now(), windowMs)
      if (late !== undefined) return late
      const key = (signer.kind === 'device' ? ofDevice : undefined) ?? nonceKey(`key:${found.id}`, claim.nonce)
      const first = needingStore(() => nonces.claim(key, Number(claim.timestamp), glance.birth), request.waits)
      return after(first, (first) => (first ? after(this.#accepted(request, claim, device), () => accept(signer)) : replayed))
    })
  }
}

/** What the stores know of a request. */
interface Found {
  readonly revoked: boolean
  readonly device: DeviceRecord | undefined
  readonly glance: NonceGlance
  readonly candidates: Candidates
  /** Key of the nonce under the device that the request names; absent when no device was looked for. */
  readonly ofDevice: string | undefined
}

/** What differs between requests with and without a token. */
interface Steps<R> {
  readonly bind: (signer: Signer) => SignatureFault | undefined
  readonly accept: (signer: Signer) => R
  /** All checks anew: tokens end and devices are removed while a body is awaited. */
  readonly again: (request: Incoming) => Pending<R | Refusal>
}

function withBody(request: Incoming, body: Uint8Array): Incoming {
  return { ...request, body: () => body }
}

/** The bearer token, when the request has one `Authorization` header and no second one. */
function oneToken(rawHeaders: readonly string[]): string | undefined {
  let value: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length !== AUTHORIZATION.length || name.toLowerCase() !== AUTHORIZATION) continue
    if (value !== undefined) return undefined
    value = rawHeaders[index + 1]
  }
  // Anything that is not a token is refused by its verifier.
  return value !== undefined && bearer.test(value) ? value.slice(BEARER_LENGTH) : undefined
}

function allowedProfile(claim: SignatureClaim, device: DeviceRecord | undefined): SignatureFault | undefined {
  return checkProfile(claim, device?.profile ?? 'v1')
}
