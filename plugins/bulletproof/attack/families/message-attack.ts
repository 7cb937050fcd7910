import { type Attack, accepted, type Round } from '../attack.js'
import type { Credential, Kit, MessageCredential } from '../kit.js'
import { type MessageSigning, message } from '../message.js'
import { headerOf, type WireRequest, withHeader } from '../wire.js'

const takesNone = 'the app does not accept requests signed by RFC 9421'
export const exact = 'Accept one form of Signature-Input only: these components and parameters, in this order, each once.'
export const rebuild = 'Rebuild the signature base from the received request with every covered header, and verify all of it.'

/** An attack by each caller that signs by RFC 9421, after a valid message has shown that the app accepts such requests. */
export function messageAttack(
  name: string,
  hole: string,
  fix: string,
  rounds: (sign: (given?: MessageSigning) => WireRequest, as: MessageCredential, kit: Kit) => readonly Round[],
): Attack {
  return {
    name: `message:${name}`,
    hole,
    fix,
    unless: (kit) =>
      (kit.parts.messages ?? []).length > 0
        ? undefined
        : 'the signing device would be pinned to RFC 9421; log in with --email to use a device of its own',
    rounds: (kit) =>
      (kit.parts.messages ?? []).flatMap((as) => [
        accepted(message(kit, as), takesNone),
        ...rounds((given) => message(kit, as, given), as, kit),
      ]),
  }
}

export function changedIn(request: WireRequest, header: string, change: (value: string) => string): WireRequest {
  return withHeader(request, header, change(headerOf(request, header) ?? ''))
}

export const inInput = (request: WireRequest, from: RegExp | string, to: string): WireRequest =>
  changedIn(request, 'signature-input', (input) => input.replace(from, to))

/** Two signatures in the two headers of one request. */
export function together(one: WireRequest, two: WireRequest): WireRequest {
  return ['signature-input', 'signature'].reduce(
    (request, name) => changedIn(request, name, (value) => `${value}, ${headerOf(two, name)}`),
    one,
  )
}

export function twice(request: WireRequest, name: string, value: string): WireRequest {
  return { ...request, headers: [...request.headers, [name, value]] }
}

/** The five headers of profile v1, for the caller that signs by RFC 9421. */
export function byV1(kit: Kit, { keyId, token }: MessageCredential, secret: string): WireRequest {
  const as: Credential = { keyId, token, secret }
  return kit.sign({ as })
}

export const secretsOf = ({ secret, publicKey = '' }: MessageCredential): readonly string[] =>
  secret === undefined ? [publicKey, `ed25519:${publicKey}`, Buffer.from(publicKey, 'base64url').toString('latin1')] : [secret]

export const bodyOf = (kit: Kit): Buffer => Buffer.from(kit.target.body ?? '{}')
