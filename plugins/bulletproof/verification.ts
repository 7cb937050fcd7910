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

/** The parts of a request that the checks need. */
export interface Incoming {
  readonly method: string
  /** The target of the request line, as received. */
  readonly target: string
  /** Alternating names and values, with duplicates. */
  readonly rawHeaders: readonly string[]
  /** The time that the request may spend waiting for stores. */
  readonly waits: WaitBudget
  /** The raw bytes; called only after the signature is verified. */
  body(): Pending<Uint8Array>
}

export interface VerificationParts {
  readonly names: SignatureHeaderNames
  readonly windowMs: number
  readonly signedPathPrefix: string
  /** Empty for the received `Host`. */
  readonly signedAuthority: string
  readonly slots: number
  readonly clock: Clock
  readonly tokens: Pick<Tokens, 'verify' | 'revocationKeys' | 'isRevokedBy' | 'access'>
  readonly kv: () => Pick<Kv, 'getMany'> | undefined
  readonly devices: DeviceStore
  readonly nonces: LastingNonces
  readonly secrets: Secrets
  /** Called with every device whose request was accepted. */
  readonly seen: (device: DeviceRecord) => void
}

/** If the body takes longer than this, in ms, all checks run again. A logout within a shorter time counts as one after the request. */
const slowBodyMs = 1_000

const AUTHORIZATION = 'authorization'
const bearer = /^Bearer /i
const BEARER_LENGTH = 7

/**
 * Runs the checks in order of cost: first those that need no store, then one read of the stores, then the MAC, then the body, which is
 * read only when the MAC matches. The nonce is claimed last, by exactly one copy of the request.
 */
export class Verification {
  readonly #parts: VerificationParts
  readonly #decoy: DecoyKey = decoyKey()
  readonly #readSignature: SignatureReader

  constructor(parts: VerificationParts) {
    this.#parts = parts
    this.#readSignature = signatureReader(parts.names)
  }

  /** Checks all nine layers. */
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

  /** Checks layers 3 to 7 without a token. */
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
    // Clients of the SQL proxies need no device id; if there is one, it must equal the key id.
    const bind = (): SignatureFault | undefined =>
      checkProfile(claim, weakest) ?? allowedProfile(claim, device) ?? (claim.deviceId === undefined ? undefined : checkBindings(claim, {}))
    return this.#prove<SignedBy>(
      request,
      claim,
      { ...found, candidates: allowed },
      { bind, accept: (signer) => ({ ok: true, signer }), again: (later) => this.verify(later, from, weakest) },
    )
  }

  /** The access of an accepted request: valid as long as its token, and its device if it has one. */
  accessOf({ claims, signer }: SignedUser): Access {
    const token = this.#parts.tokens.access(claims)
    if (signer.kind !== 'device') return token
    return { lastsMs: token.lastsMs, holds: async () => (await token.holds()) && this.#isInUse(signer) }
  }

  async #isInUse({ keyId, userId }: Signer): Promise<boolean> {
    const device = await needingStore(() => readOne(this.#parts.kv(), this.#parts.devices.find(keyId)))
    return device !== undefined && device.removedAt === undefined && device.userId === userId
  }

  /** The pin is written before the response: once a client has seen an accepted request, it is safe from a downgrade. */
  #accepted({ waits }: Incoming, claim: SignatureClaim, device: DeviceRecord | undefined): Pending<void> {
    if (device === undefined) return
    const pins = claim.profile === 'rfc9421' && device.profile === 'v1'
    return after(pins ? needingStore(() => this.#parts.devices.pin(device.deviceId), waits) : undefined, () => this.#parts.seen(device))
  }

  /** The claims of the token, or the reason for a refusal. */
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

  /** All steps after the body run in one callback, so that with stores in memory a request waits only for its body. */
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

/** The results of the stores for a request. */
interface Found {
  readonly revoked: boolean
  readonly device: DeviceRecord | undefined
  readonly glance: NonceGlance
  readonly candidates: Candidates
  /** Nonce key for the device that the request names; undefined when no device was looked up. */
  readonly ofDevice: string | undefined
}

/** The steps that differ between requests with and without a token. */
interface Steps<R> {
  readonly bind: (signer: Signer) => SignatureFault | undefined
  readonly accept: (signer: Signer) => R
  /** Repeats all checks: tokens can expire and devices can be removed while the body arrives. */
  readonly again: (request: Incoming) => Pending<R | Refusal>
}

function withBody(request: Incoming, body: Uint8Array): Incoming {
  return { ...request, body: () => body }
}

/** The bearer token, if the request has exactly one `Authorization` header. */
function oneToken(rawHeaders: readonly string[]): string | undefined {
  let value: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length !== AUTHORIZATION.length || name.toLowerCase() !== AUTHORIZATION) continue
    if (value !== undefined) return undefined
    value = rawHeaders[index + 1]
  }
  // The verifier refuses anything that is not a token.
  return value !== undefined && bearer.test(value) ? value.slice(BEARER_LENGTH) : undefined
}

function allowedProfile(claim: SignatureClaim, device: DeviceRecord | undefined): SignatureFault | undefined {
  return checkProfile(claim, device?.profile ?? 'v1')
}
