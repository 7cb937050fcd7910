import { createHash, createHmac, type KeyObject, randomUUID, sign } from 'node:crypto'
import { type Credential, type Kit, type MessageCredential, userAgent } from './kit.js'
import type { WireRequest } from './wire.js'

export function withSecret({ keyId, secret, token }: Credential): MessageCredential {
  return { keyId, token, secret, alg: 'hmac-sha256', sign: (text) => createHmac('sha256', secret).update(text).digest() }
}

export function withOwnKey(keyId: string, token: string, privateKey: KeyObject, publicKey: string): MessageCredential {
  return { keyId, token, publicKey, alg: 'ed25519', sign: (text) => sign(null, Buffer.from(text), privateKey) }
}

/** Deviations of a message from a valid one. They are applied before signing; changes after signing are made to the result. */
export interface MessageSigning {
  readonly method?: string
  readonly path?: string
  readonly body?: Buffer | string
  /** Seconds since 1970, as text. */
  readonly created?: string
  readonly nonce?: string
  readonly keyId?: string
  readonly alg?: string
  /** Value of the device id header. */
  readonly deviceId?: string
  readonly label?: string
  /** Changes the list of covered components. */
  readonly covering?: (names: readonly string[]) => readonly string[]
  /** Changes the text of the parameters, `;created=…;tag="…"`. */
  readonly parameters?: (text: string) => string
}

/** A request to the target, signed by RFC 9421 as the profile requires, except for the given deviations. */
export function message(kit: Kit, as: MessageCredential, given: MessageSigning = {}): WireRequest {
  const { host, names, now, signedAuthority, signedPathPrefix, target } = kit.parts
  const { method = target.method, path = target.path, label = 'zin', deviceId = as.keyId } = given
  const content = given.body ?? target.body
  const body = content === undefined ? undefined : Buffer.from(content as string)
  const mark = path.indexOf('?')
  const own: readonly (readonly [string, string])[] = [
    ...(body === undefined ? [] : [['content-type', target.contentType] as const, ['content-digest', digestOf(body)] as const]),
    ['authorization', `Bearer ${as.token}`],
    [names.deviceId, deviceId],
  ]
  const values = new Map([
    ['@method', method],
    ['@authority', signedAuthority || host],
    ['@path', signedPathPrefix + (mark < 0 ? path : path.slice(0, mark))],
    ['@query', mark < 0 ? '?' : path.slice(mark)],
    ...own,
  ])
  const covered = (given.covering ?? ((all) => all))([...values.keys()])
  const { created = String(Math.floor(now() / 1000)), nonce = randomUUID(), keyId = as.keyId, alg = as.alg } = given
  const usual = `;created=${created};nonce="${nonce}";keyid="${keyId}";alg="${alg}";tag="zin-bulletproof"`
  const input = `(${covered.map((name) => `"${name}"`).join(' ')})${(given.parameters ?? String)(usual)}`
  const lines = [...covered.map((name) => [name, values.get(name) ?? ''] as const), ['@signature-params', input] as const]
  const signature = as.sign(lines.map(([name, value]) => `"${name}": ${value}`).join('\n')).toString('base64')
  const headers: readonly (readonly [string, string])[] = [
    ['host', host],
    ['accept', 'application/json'],
    ['user-agent', userAgent],
    ...own,
    ['signature-input', `${label}=${input}`],
    ['signature', `${label}=:${signature}:`],
  ]
  return { method, target: path, headers, ...(body === undefined ? {} : { body }) }
}

export function digestOf(body: Buffer): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
}
