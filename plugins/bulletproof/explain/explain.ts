import { createHmac } from 'node:crypto'
import { messageOf } from 'zin'
import type { Claims } from 'zin/plugins/jwt'
import {
  checkBindings,
  checkBody,
  checkFreshness,
  checkMac,
  checkOwner,
  checkProfile,
  type DecoyKey,
  readSignature,
  type SignatureClaim,
  type SignatureFault,
  type SignatureHeaderNames,
  type SignedTarget,
  type SigningKey,
  sha256Hex,
  signedTarget,
  signedText,
} from 'zin/signing'
import { claimsOf } from '../attack/kit.js'
import type { Signer } from '../contract.js'
import { guessMistake } from './guesses.js'
import { adviceFor, type Layer, layerNames } from './layers.js'
import type { CapturedRequest } from './request-file.js'

/** The keys for a request, and the state of the device. */
export interface KnownKeys {
  readonly keys: readonly SigningKey[]
  /** Describes the owner of the keys. */
  readonly whose: string
  readonly signer: Signer | undefined
  readonly weakest: 'v1' | 'rfc9421'
  /** Why there are no keys. */
  readonly absent?: string
  /** Why the keys may differ from those of the running app. */
  readonly unsure?: string
}

/** The settings and state of the app that received the request. */
export interface Known {
  readonly names: SignatureHeaderNames
  readonly windowMs: number
  readonly signedPathPrefix: string
  readonly signedAuthority: string
  /** Time of the check, ms since 1970. */
  readonly at: number
  readonly decoy: DecoyKey
  /** Undefined when no token key is set. */
  readonly verifyToken: ((token: string) => Claims) | undefined
  /** Undefined when only the running app knows. */
  readonly isRevoked: (claims: Claims) => Promise<boolean | undefined>
  readonly keysOf: (claim: SignatureClaim) => Promise<KnownKeys>
  /** Other keys and their owners, to detect a mix-up. */
  readonly others: readonly (readonly [whose: string, keys: readonly SigningKey[]])[]
  /** `unknown` when the nonces are only in the memory of the running app. */
  readonly nonceFault: (claim: SignatureClaim, credential: string) => Promise<SignatureFault | undefined | 'unknown'>
}

export interface LayerReport {
  readonly layer: Layer
  readonly name: string
  /** `-`: not reached, because an earlier layer leaves nothing to check. */
  readonly verdict: 'passed' | 'failed' | 'not checked' | '-'
  readonly why: string
  readonly advice?: string
}

export interface Explanation {
  readonly layers: readonly LayerReport[]
  readonly firstFailed: LayerReport | undefined
  readonly profile: string | undefined
  /** The signed text, without the token. */
  readonly canonical: string | undefined
  readonly bodySha256: { readonly given: string | undefined; readonly expected: string }
  /** The first 8 hex digits: enough to compare, too few to send. */
  readonly signature: { readonly given: string | undefined; readonly expected: string | undefined }
}

const bearer = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i

/** Checks a captured request layer by layer, in the order of the specification. */
export async function explain(request: CapturedRequest, known: Known): Promise<Explanation> {
  const rows = new Map<Layer, LayerReport>()
  const report = (layer: Layer, verdict: LayerReport['verdict'], why = ''): void => {
    const advice = verdict === 'failed' ? { advice: adviceFor(layer, why) } : {}
    rows.set(layer, { layer, name: layerNames[layer], verdict, why, ...advice })
  }
  const judged = (layer: Layer, fault: SignatureFault | undefined, passed = ''): void =>
    report(layer, fault === undefined ? 'passed' : 'failed', fault?.reason ?? passed)

  const claims = readToken(request, known, report)
  report(2, ...(await judgeRevocation(claims, known)))
  const claim = readSignature(request.rawHeaders, known.names)
  judged(3, claim.ok ? undefined : claim, claim.ok ? `profile ${claim.profile}` : '')
  const target = signedTarget(request.target, known.signedPathPrefix, known.signedAuthority)
  const keys = claim.ok ? await known.keysOf(claim) : undefined
  if (claim.ok && keys !== undefined) {
    judged(4, checkFreshness(claim, known.at, known.windowMs), `${known.at - Number(claim.timestamp)} ms old`)
    const checked = checkMac(request.method, target, claim, keys.keys, known.decoy)
    await reportNonce(claim, keys, 'ok' in checked ? undefined : checked, known, report)
    report(6, ...judgeSignature({ request, known, claim, target, keys, checked }))
    reportBindings(claim, claims, keys, report, judged)
  } else for (const layer of [4, 5, 6, 7, 8, 9] as const) report(layer, '-', 'there is no signature to verify')

  const layers = [...rows.values()].sort((a, b) => a.layer - b.layer)
  return {
    layers,
    firstFailed: layers.find(({ verdict }) => verdict === 'failed'),
    profile: claim.ok ? claim.profile : undefined,
    ...evidence(request, claim, target, keys),
  }
}

type Report = (layer: Layer, verdict: LayerReport['verdict'], why?: string) => void

interface TokenFound {
  readonly claims: Claims | Readonly<Record<string, unknown>>
  readonly verified: boolean
}

function readToken({ rawHeaders }: CapturedRequest, { verifyToken }: Known, report: Report): TokenFound | undefined {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization')
  const token = values.length === 1 ? bearer.exec(values[0] ?? '')?.[1] : undefined
  if (token === undefined) {
    report(1, 'failed', values.length > 1 ? 'the request has several bearer tokens' : 'the request has no bearer token')
    return undefined
  }
  if (verifyToken === undefined) {
    report(1, 'not checked', 'neither JWT_SECRET nor APP_KEY is set here; the claims of the token are not verified')
    return { claims: claimsOf(token), verified: false }
  }
  try {
    const claims = verifyToken(token)
    report(1, 'passed')
    return { claims, verified: true }
  } catch (error) {
    report(1, 'failed', messageOf((error as Error).cause ?? error))
    return { claims: claimsOf(token), verified: false }
  }
}

async function judgeRevocation(found: TokenFound | undefined, { isRevoked }: Known): Promise<readonly [LayerReport['verdict'], string]> {
  if (found?.verified !== true) return [found === undefined ? '-' : 'not checked', 'the token is not verified']
  const revoked = await isRevoked(found.claims as Claims)
  if (revoked === undefined) return ['not checked', 'revocations are in the memory of the running app']
  return revoked ? ['failed', 'the token is revoked'] : ['passed', '']
}

async function reportNonce(claim: SignatureClaim, { signer }: KnownKeys, checked: SigningKey | undefined, known: Known, report: Report) {
  const credential = signer?.kind === 'device' ? `device:${signer.keyId}` : `key:${checked?.id ?? ''}`
  const fault = await known.nonceFault(claim, credential)
  if (fault === 'unknown') report(5, 'not checked', 'nonces are in the memory of the running app')
  else report(5, fault === undefined ? 'passed' : 'failed', fault?.reason ?? '')
}

interface SignatureParts {
  readonly request: CapturedRequest
  readonly known: Known
  readonly claim: SignatureClaim
  readonly target: SignedTarget | undefined
  readonly keys: KnownKeys
  readonly checked: SigningKey | SignatureFault
}

function judgeSignature({ request, known, claim, target, keys, checked }: SignatureParts): readonly [LayerReport['verdict'], string] {
  if (!('ok' in checked)) {
    const fault = checkProfile(claim, keys.weakest) ?? checkBody(claim, request.body)
    return fault === undefined ? ['passed', `signed with ${keys.whose}`] : ['failed', fault.reason]
  }
  if (target === undefined) return ['failed', checked.reason]
  const { decoy, others, signedPathPrefix: prefix } = known
  const mistake = guessMistake({ ...request, target, claim, keys: keys.keys, decoy, prefix, others })
  if (mistake !== undefined) return ['failed', `${checked.reason}: ${mistake}`]
  if (keys.unsure !== undefined) return ['not checked', keys.unsure]
  return ['failed', keys.absent ?? `${checked.reason} with ${keys.whose}`]
}

function reportBindings(
  claim: SignatureClaim,
  found: TokenFound | undefined,
  { signer }: KnownKeys,
  report: Report,
  judged: (layer: Layer, fault: SignatureFault | undefined, passed?: string) => void,
): void {
  const token = (found?.claims ?? {}) as Readonly<Record<string, unknown>>
  const { deviceId, tz, uaHash, sub } = token
  const owner = signer?.userId
  const bound = checkBindings(claim, { ...(deviceId === undefined ? {} : { deviceId }) })
  const owned = owner === undefined || found === undefined ? undefined : checkOwner(owner, sub as string | number | undefined)
  judged(7, bound ?? owned)
  if (found === undefined) for (const layer of [8, 9] as const) report(layer, '-', 'there is no token to compare with')
  else {
    const bindable = { ...claim, deviceId: claim.keyId }
    judged(8, tz === undefined ? undefined : checkBindings(bindable, { tz }), tz === undefined ? 'the token has no tz claim' : '')
    judged(
      9,
      uaHash === undefined ? undefined : checkBindings(bindable, { uaHash }),
      uaHash === undefined ? 'the token has no uaHash claim' : '',
    )
  }
}

function evidence(
  request: CapturedRequest,
  claim: SignatureClaim | SignatureFault,
  target: SignedTarget | undefined,
  keys: KnownKeys | undefined,
): Pick<Explanation, 'canonical' | 'bodySha256' | 'signature'> {
  const text = claim.ok && target !== undefined ? signedText(request.method, target, claim) : undefined
  const [first] = (keys?.keys ?? []).filter(({ key }) => key.type === 'secret')
  const hmac = claim.ok && claim.alg === 'hmac-sha256' && first !== undefined && text !== undefined
  return {
    canonical: text?.replace(/^("authorization": ).*$/m, '$1********'),
    bodySha256: { given: claim.ok ? claim.bodySha256 : undefined, expected: sha256Hex(request.body) },
    signature: {
      given: claim.ok ? claim.signature.slice(0, 8) : undefined,
      expected: hmac ? createHmac('sha256', first.key).update(text).digest('hex').slice(0, 8) : undefined,
    },
  }
}
