export type SignedBody = string | Uint8Array | ArrayBuffer | undefined

export function subtle(): SubtleCrypto {
  const found = globalThis.crypto?.subtle
  if (found === undefined) throw new TypeError('crypto.subtle is not available: browsers provide it on https and localhost pages only')
  return found
}

/** A random UUID. */
export function newNonce(): string {
  // Checked first: a page without `crypto.subtle` also lacks `randomUUID`, and the error would be obscure.
  subtle()
  return crypto.randomUUID()
}

/** Returns the base URL for relative URLs of a page, as for fetch; `undefined` outside of a page. */
export function baseUrl(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href
}

export function bytesOf(body: SignedBody): ArrayBuffer | Uint8Array<ArrayBuffer> {
  if (body === undefined) return new Uint8Array(0)
  if (typeof body === 'string') return new TextEncoder().encode(body)
  return body as ArrayBuffer | Uint8Array<ArrayBuffer>
}

export async function sha256(body: SignedBody): Promise<Uint8Array> {
  return new Uint8Array(await subtle().digest('SHA-256', bytesOf(body)))
}

/** The key is the secret's UTF-8 bytes, unchanged. */
export async function hmacSha256(secret: string, text: string): Promise<Uint8Array> {
  const encoder = new TextEncoder()
  const key = await subtle().importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await subtle().sign('HMAC', key, encoder.encode(text)))
}
