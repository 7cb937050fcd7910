import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'
import { announcesBody, authBudget, captureBody, type Logger, type NotifySlot, noteAccess, type SecurityScheme } from 'zin'
import { isSigned, KEY_ID_PATTERN, type SignatureHeaderNames, type SignatureProfile, sha256Hex } from 'zin/signing'
import type { Refusal, SignedBy, SignedRequests, SignedUser } from './contract.js'
import type { AuthDecision } from './hooks.js'
import { after, type Pending } from './pending.js'
import type { Incoming, Verification } from './verification.js'

export interface HttpParts {
  readonly verification: Verification
  readonly names: SignatureHeaderNames
  readonly windowMs: number
  readonly decisions: NotifySlot<[decision: AuthDecision]>
  readonly log: Logger
}

/** Verifies the requests of Koa contexts. Every decision is passed to the hook, and refusals are logged. */
export class HttpChecks implements SignedRequests {
  readonly #parts: HttpParts
  /** Hashes of the key ids of accepted requests, which are likely to send more. */
  readonly #keyIdHashes = new LRUCache<string, string>({ max: 10_000 })

  constructor(parts: HttpParts) {
    this.#parts = parts
  }

  get windowMs(): number {
    return this.#parts.windowMs
  }

  get scheme(): SecurityScheme {
    return {
      type: 'apiKey',
      in: 'header',
      name: this.#parts.names.signature,
      description: 'Signature of the request; one of the headers that zin/signer creates for each request',
    }
  }

  isSigned(ctx: Context): boolean {
    return isSigned(ctx.req.headers, this.#parts.names)
  }

  async verify(ctx: Context, from: readonly ('shared' | 'device')[], weakest: SignatureProfile = 'v1'): Promise<SignedBy | Refusal> {
    return this.#reported(ctx, await this.#parts.verification.verify(incomingOf(ctx), from, weakest))
  }

  async authenticate(ctx: Context): Promise<SignedUser | Refusal> {
    return this.decide(ctx, (result) => result)
  }

  /** Calls `use` with the result of {@link authenticate}, synchronously when there is no store or body to wait for. */
  decide<T>(ctx: Context, use: (result: SignedUser | Refusal) => Pending<T>): Pending<T> {
    return after(this.#parts.verification.authenticate(incomingOf(ctx)), (result) => {
      if (result.ok) noteAccess(ctx, () => this.#parts.verification.accessOf(result))
      return use(this.#reported(ctx, result))
    })
  }

  #reported<R extends SignedBy | Refusal>(ctx: Context, result: R): R {
    const { names, decisions, log } = this.#parts
    if (result.ok && !decisions.active) return result
    // Under RFC 9421 the key id is a parameter of the signature; the device id must be the same.
    const keyId = ctx.req.headers[names.keyId] ?? ctx.req.headers[names.deviceId]
    const keyIdHash = result.ok ? this.#knownHashOf(keyId) : hashOfKeyId(keyId)
    const layer = result.ok ? undefined : result.layer
    const path = pathOf(ctx.url)
    if (!result.ok) log.info({ layer, reason: result.reason, keyIdHash, path }, 'signed request refused')
    if (decisions.active) decisions.call({ layer, outcome: result.ok ? 'accepted' : 'refused', keyIdHash, path })
    return result
  }

  #knownHashOf(keyId: unknown): string {
    if (typeof keyId !== 'string') return ''
    const known = this.#keyIdHashes.get(keyId)
    if (known !== undefined) return known
    const hash = hashOfKeyId(keyId)
    this.#keyIdHashes.set(keyId, hash)
    return hash
  }
}

/** The path of a request target in origin form; other forms were refused earlier. */
function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

const noBytes = new Uint8Array(0)

function incomingOf(ctx: Context): Incoming {
  return {
    method: ctx.req.method ?? '',
    // A middleware may have rewritten Koa's `url`; the client signed the original one.
    target: ctx.originalUrl,
    rawHeaders: ctx.req.rawHeaders,
    waits: authBudget(ctx),
    body: () => (announcesBody(ctx.req) ? captureBody(ctx) : noBytes),
  }
}

function hashOfKeyId(keyId: unknown): string {
  if (typeof keyId !== 'string' || !KEY_ID_PATTERN.test(keyId)) return ''
  return sha256Hex(keyId).slice(0, 16)
}
