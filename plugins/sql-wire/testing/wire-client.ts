import { request as httpRequest } from 'node:http'
import { createHeaders } from 'zin/signer'

/** A response of a proxy. */
export interface WireResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: as returned by JSON.parse
  readonly body: any
}

export interface WireTarget {
  readonly url: string
  /** `/svc/rdb/` or `/svc/edge/`. */
  readonly base: string
  readonly keyId: string
  readonly secret: string
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  /** Whether to sign the request. Default true. */
  readonly signed?: boolean
  readonly keyId?: string
  readonly secret?: string
  readonly nonce?: string
  readonly timestamp?: number
  /** Body to sign instead of the one that is sent. */
  readonly signedBody?: string
}

/** Sends a signed request over a new connection. Text is sent unchanged. */
export async function sendWire(target: WireTarget, path: string, body: unknown, options: SendOptions = {}): Promise<WireResponse> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const url = `${target.url}${target.base}${path}`
  const { method = 'POST', signed = true, keyId = target.keyId, secret = target.secret, nonce, timestamp, signedBody = text } = options
  const given = { ...(nonce && { nonce }), ...(timestamp && { timestamp }) }
  const signature = signed ? await createHeaders({ method, url, body: signedBody, keyId, secret, ...given }) : {}
  return exchange(url, method, { 'content-type': 'application/json', ...signature, ...options.headers }, text)
}

/** Sends one request over a new connection and reads the response. */
export function exchange(url: string, method: string, headers: Readonly<Record<string, string>>, text: string): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      url,
      { method, headers: { ...headers, 'content-length': String(Buffer.byteLength(text)) }, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const received = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: received, body: parsed(received) })
        })
      },
    )
    sent.on('error', reject)
    sent.end(text)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
