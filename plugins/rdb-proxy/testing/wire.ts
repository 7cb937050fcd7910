import { createHeaders } from 'zin/signer'

export interface Target {
  readonly url: string
  readonly base: string
  readonly keyId: string
  readonly secret: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: as returned by JSON.parse
  readonly body: any
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signed?: boolean
  readonly keyId?: string
  readonly secret?: string
  readonly signal?: AbortSignal
}

/** Sends a signed request without reading the response. */
export async function startWire(target: Target, path: string, body: unknown, options: SendOptions = {}): Promise<Response> {
  const url = `${target.url}${target.base}${path}`
  const text = JSON.stringify(body)
  const { keyId = target.keyId, secret = target.secret, signed = true, headers, signal } = options
  const signature = signed ? await createHeaders({ method: 'POST', url, body: text, keyId, secret }) : {}
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...signature, ...headers },
    body: text,
    ...(signal && { signal }),
  })
}

/** Sends a signed request and reads the whole response. */
export async function sendWire(target: Target, path: string, body: unknown, options?: SendOptions): Promise<Answer> {
  const response = await startWire(target, path, body, options)
  const text = await response.text()
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    parsed = undefined
  }
  return { status: response.status, headers: response.headers, text, body: parsed }
}
