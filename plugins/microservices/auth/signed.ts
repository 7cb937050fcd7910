import { createHmac } from 'node:crypto'
import type { Clock } from 'zin'
import { createHeaders } from 'zin/signer'
import { checkBody, checkFreshness, checkMac, decoyKey, signatureHeaderNames, signatureReader, signedTarget, signingKey } from 'zin/signing'
import type { ServiceAuth, TakeNonce } from './contract.js'

/** Largest allowed difference between the timestamp of a signed call and the clock, in ms. */
export const windowMs = 60_000

export interface SignedOptions {
  readonly secret: string
  readonly service: string
  /** Key id of outgoing calls. */
  readonly caller: string
  readonly clock: Clock
  readonly takeNonce: TakeNonce
}

/** Strategy `signed`: signed requests, profile v1. Each service has its own key, so a request to one is invalid at another. */
export function signedCalls({ secret, service, caller, clock, takeNonce }: SignedOptions): ServiceAuth {
  const own = createHmac('sha256', secret).update(`zin/service/v1\n${service}`).digest('hex')
  const key = signingKey(own)
  const decoy = decoyKey()
  const read = signatureReader(signatureHeaderNames())
  return {
    credentials: ({ method, path, body }) =>
      createHeaders({
        method,
        url: path,
        keyId: caller,
        secret: own,
        timestamp: clock.now(),
        ...(body === undefined ? {} : { body: Buffer.from(body) }),
      }),
    async refusal(request) {
      const claim = read(request.rawHeaders)
      if (!claim.ok) return claim.reason
      const now = clock.now()
      const late = checkFreshness(claim, now, windowMs)
      if (late !== undefined) return late.reason
      const signed = checkMac(request.method, signedTarget(request.path), claim, [key], decoy)
      if ('reason' in signed) return signed.reason
      const changed = checkBody(claim, await request.body())
      if (changed !== undefined) return changed.reason
      return takeNonce(service, claim)
    },
  }
}
