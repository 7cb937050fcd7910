import { unauthorized, WireError } from 'zin/plugins/sql-wire'
import { checkFreshness, checkWebBody, checkWebMac, type SignatureReader, signatureReader, webSha256Hex } from 'zin/signing/web'
import type { EdgeConfig } from './config.js'
import { edgeLimits } from './limits.js'
import type { EdgeRequest } from './request.js'

/** Who asked, and what came. */
export interface Verified {
  readonly keyId: string
  /** Names the nonce; its credential is part of it, the key id is not: any caller may choose that. */
  readonly nonce: string
  /** The nonce is kept until then, ms since 1970. */
  readonly nonceUntil: number
  readonly body: Uint8Array
  readonly bodySha256: string
}

export interface Verifier {
  /** Throws the one 401, or PAYLOAD_TOO_LARGE. The body is read when its signature is right. */
  verify(request: EdgeRequest, now: number): Promise<Verified>
}

/** Checks signatures with the one shared secret; every key id is accepted. */
export function createVerifier({ key, names }: EdgeConfig): Verifier {
  const read: SignatureReader = signatureReader(names)
  const { windowMs, maxBodyBytes } = edgeLimits
  return {
    async verify(request, now) {
      const claim = read(request.headers)
      if (!claim.ok || checkFreshness(claim, now, windowMs) !== undefined) throw unauthorized()
      const { method, pathname, search } = request
      if ((await checkWebMac(method, { pathname, search }, claim, key)) !== undefined) throw unauthorized()
      // The device binding of layer 7; here both are the name that the caller gave itself.
      if (claim.deviceId !== undefined && claim.deviceId !== claim.keyId) throw unauthorized()
      const body = await request.body(maxBodyBytes)
      if (body === undefined)
        throw new WireError('PAYLOAD_TOO_LARGE', `The body has more than ${maxBodyBytes} bytes`, { details: { limit: maxBodyBytes } })
      if ((await checkWebBody(claim, body)) !== undefined) throw unauthorized()
      const nonce = (await webSha256Hex(`${key.id}\n${claim.nonce}`)).slice(0, 32)
      return { keyId: claim.keyId, nonce, nonceUntil: Number(claim.timestamp) + windowMs + 1, body, bodySha256: claim.bodySha256 }
    },
  }
}
