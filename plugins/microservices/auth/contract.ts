import type { SignatureClaim } from 'zin/signing'

/** A call, as a credential is made for it. */
export interface CredentialRequest {
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly body: string | Uint8Array | undefined
}

/** A request that came to a service. */
export interface IncomingCall {
  readonly method: string
  /** Path with query, as it came. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names and values in turn, repeats kept. */
  readonly rawHeaders: readonly string[]
  body(): Promise<Uint8Array>
}

/** Takes the nonce of a signed request to a service, for exactly one copy of it; why not when it was used. Throws when its store does not respond. */
export type TakeNonce = (service: string, claim: SignatureClaim) => Promise<string | undefined>

/** The strategy of one service, from both sides. */
export interface ServiceAuth {
  /** Headers of a call; lower-case names. */
  credentials(request: CredentialRequest): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** Why a request is refused; undefined when it is not. */
  refusal(request: IncomingCall): string | undefined | Promise<string | undefined>
}
