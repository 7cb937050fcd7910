import { createHeaders } from 'zin/signer'

/** A response of the proxy. */
export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
  readonly body: any
  readonly text: string
  readonly headers: Headers
}

export interface CallOptions {
  readonly keyId?: string
  readonly secret?: string
  /** Override the signed headers; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly timestamp?: number
  /** Sent instead of the signed body. */
  readonly sent?: string | Uint8Array<ArrayBuffer>
  readonly method?: string
}

/** A signed request that can be sent more than once. */
export interface Signed {
  /** @param url of another process of the proxy; the host is not signed. */
  send(url?: string): Promise<Reply>
}

export interface EdgeClient {
  readonly url: string
  /** Signs and sends a body: text and bytes unchanged, anything else as JSON. */
  call(path: string, body: unknown, options?: CallOptions): Promise<Reply>
  sign(path: string, body: unknown, options?: CallOptions): Promise<Signed>
}

export const testSecret = 'a-secret-for-the-tests-of-the-edge-proxy'

/** Creates a client of a proxy over HTTP. */
export function edgeClient(url: string): EdgeClient {
  const sign: EdgeClient['sign'] = async (path, body, options = {}) => {
    const { keyId = 'tests', secret = testSecret, timestamp, method = 'POST' } = options
    const target = path.startsWith('/') ? `${url}${path}` : `${url}/svc/edge/${path}`
    const content =
      typeof body === 'string' || body instanceof Uint8Array ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body)
    const signed = await createHeaders({
      method,
      url: target,
      body: content,
      keyId,
      secret,
      ...(timestamp === undefined ? {} : { timestamp }),
    })
    // workerd closes a connection when it has refused a request without reading its body, perhaps just when the next one is sent.
    const all = Object.entries({ 'content-type': 'application/json', connection: 'close', ...signed, ...options.headers })
    const headers = all.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]))
    const sent = method === 'GET' ? null : (options.sent ?? content)
    return { send: async (other = url) => replyOf(await fetch(target.replace(url, other), { method, headers, body: sent })) }
  }
  return { url, sign, call: async (path, body, options) => (await sign(path, body, options)).send() }
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text), headers: response.headers }
}
