export type SignedBody = string | Uint8Array | ArrayBuffer | undefined

export function subtle(): SubtleCrypto {
  const found = globalThis.crypto?.subtle
  if (found === undefined) throw new TypeError('crypto.subtle is missing: a browser gives it to pages on https or localhost only')
  return found
}

export function bytesOf(body: SignedBody): ArrayBuffer | Uint8Array<ArrayBuffer> {
  if (body === undefined) return new Uint8Array(0)
  if (typeof body === 'string') return new TextEncoder().encode(body)
  return body as ArrayBuffer | Uint8Array<ArrayBuffer>
}

export async function sha256(body: SignedBody): Promise<Uint8Array> {
  return new Uint8Array(await subtle().digest('SHA-256', bytesOf(body)))
}

/** The key is the secret's UTF-8 bytes as they are. */
export async function hmacSha256(secret: string, text: string): Promise<Uint8Array> {
  const encoder = new TextEncoder()
  const key = await subtle().importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await subtle().sign('HMAC', key, encoder.encode(text)))
}
