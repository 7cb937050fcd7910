import { unauthorized, WireError } from 'zin/plugins/sql-wire'
import { checkFreshness, checkWebBody, checkWebMac, type SignatureReader, signatureReader, webSha256Hex } from 'zin/signing/web'
import type { EdgeConfig } from './config.js'
import { edgeLimits } from './limits.js'
import type { EdgeRequest } from './request.js'

/** An authenticated request. */
export interface Verified {
  readonly keyId: string
  /** Identifies the nonce. Includes the credential, but not the key id, which callers can choose freely. */
  readonly nonce: string
  /** When the nonce may be forgotten, in ms since 1970. */
  readonly nonceUntil: number
  readonly body: Uint8Array
  readonly bodySha256: string
}

export interface Verifier {
  /** Throws UNAUTHORIZED or PAYLOAD_TOO_LARGE. Reads the body only if the signature is valid. */
  verify(request: EdgeRequest, now: number): Promise<Verified>
}

/** Creates a verifier that checks signatures with the shared secret and accepts any key id. */
export function createVerifier({ key, names }: EdgeConfig): Verifier {
  const read: SignatureReader = signatureReader(names)
  const { windowMs, maxBodyBytes } = edgeLimits
  return {
    async verify(request, now) {
      const claim = read(request.headers)
      if (!claim.ok || checkFreshness(claim, now, windowMs) !== undefined) throw unauthorized()
      const { method, pathname, search } = request
      if ((await checkWebMac(method, { pathname, search }, claim, key)) !== undefined) throw unauthorized()
      // Device binding (layer 7); here both ids are chosen by the caller.
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
