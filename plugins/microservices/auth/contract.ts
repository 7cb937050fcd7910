import type { SignatureClaim } from 'zin/signing'

/** A call that needs a credential. */
export interface CredentialRequest {
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly body: string | Uint8Array | undefined
}

/** A request received by a service. */
export interface IncomingCall {
  readonly method: string
  /** Path with query, unchanged. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names and values alternating, including repeated headers. */
  readonly rawHeaders: readonly string[]
  body(): Promise<Uint8Array>
}

/** Claims the nonce of a signed request to a service. Returns the reason if it was already used. Throws if the store does not respond. */
export type TakeNonce = (service: string, claim: SignatureClaim) => Promise<string | undefined>

/** Auth strategy of one service, for its callers and for the service itself. */
export interface ServiceAuth {
  /** Returns the headers of a call that authenticate it, with lower-case names. */
  credentials(request: CredentialRequest): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** Returns why a request is refused, or undefined. */
  refusal(request: IncomingCall): string | undefined | Promise<string | undefined>
}
