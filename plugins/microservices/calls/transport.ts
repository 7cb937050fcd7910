import { type Agent, type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { messageOf, type Resolver, ZinError } from 'zin'
import { checkedLookup } from './checked-lookup.js'

/** One HTTP request. */
export interface WireRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly maxBytes: number
  /** Time limit up to the last byte of the response, in ms. */
  readonly timeoutMs: number
}

/** How a request ended. `connect`: it failed before a response began; `lost`: the response broke off. */
export type WireResult =
  | { readonly type: 'response'; readonly response: IncomingMessage; readonly body: Buffer }
  | { readonly type: 'timeout' }
  | { readonly type: 'too-large' }
  /** `sent`: the whole request was sent, so that the service may have processed it. */
  | { readonly type: 'connect' | 'lost'; readonly error: Error; readonly sent: boolean }
  | { readonly type: 'refused'; readonly error: ZinError }

/** Keep-alive connections to one address. */
export interface Connections {
  send(request: WireRequest): Promise<WireResult>
  close(): void
}

export interface ConnectionsOptions {
  /** Name of the service, for messages. */
  readonly service: string
  /** `http://users.internal:8080`. */
  readonly origin: string
  readonly resolver: Resolver
  /** PEM certificates to trust instead of the well-known authorities and NODE_EXTRA_CA_CERTS. */
  readonly ca?: string | undefined
}

export function openConnections({ ca, origin, resolver, service }: ConnectionsOptions): Connections {
  const url = new URL(origin)
  const secure = url.protocol === 'https:'
  const options = { keepAlive: true, lookup: checkedLookup(service, resolver), maxFreeSockets: 64 }
  const agent: Agent = secure ? new HttpsAgent({ ...options, ...(ca === undefined ? {} : { ca }) }) : new HttpAgent(options)
  const open = secure ? httpsRequest : httpRequest
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  const target = { agent, host, port: url.port === '' ? (secure ? 443 : 80) : Number(url.port) }
  return {
    send: (request) =>
      exchange(request, () =>
        open({ ...target, method: request.method, path: request.path, headers: { ...request.headers, host: url.host } }),
      ),
    close: () => agent.destroy(),
  }
}

function exchange({ body, maxBytes, timeoutMs }: WireRequest, open: () => ClientRequest): Promise<WireResult> {
  return new Promise((resolve) => {
    const request = open()
    let begun = false
    const end = (result: WireResult): void => {
      clearTimeout(timer)
      resolve(result)
      if (result.type !== 'response') request.destroy()
    }
    const timer = setTimeout(() => end({ type: 'timeout' }), Math.max(1, timeoutMs))
    const fail = (error: Error): void =>
      end(
        error instanceof ZinError
          ? { type: 'refused', error }
          : { type: begun ? 'lost' : 'connect', error: new Error(reasonOf(error)), sent: begun || request.writableFinished },
      )
    request.on('error', fail)
    request.on('response', (response) => {
      begun = true
      const chunks: Buffer[] = []
      let size = 0
      if (Number(response.headers['content-length']) > maxBytes && request.method !== 'HEAD') return end({ type: 'too-large' })
      // read() joins the buffered chunks; with `data` events each chunk, however small, would be an object of some hundred bytes.
      response.on('readable', () => {
        for (let chunk: Buffer | null = response.read(); chunk !== null; chunk = response.read()) {
          size += chunk.length
          if (size > maxBytes) return end({ type: 'too-large' })
          chunks.push(chunk)
        }
      })
      response.on('end', () =>
        end({ type: 'response', response, body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size) }),
      )
      response.on('error', fail)
      response.on('close', () => {
        if (!response.complete) fail(new Error('the connection closed before the response was complete'))
      })
    })
    request.end(body)
  })
}

const certificateFaults: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ...Object.fromEntries(
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ].map((code) => [code, 'its certificate is not signed by a trusted authority; pass the file of one as ca in the option services']),
  ),
}

function reasonOf(error: Error & { readonly code?: string; readonly errors?: readonly Error[] }): string {
  const fault = certificateFaults[error.code ?? '']
  if (fault !== undefined) return `${fault} (${error.message})`
  // An AggregateError of several addresses has no message; each address has its own error.
  return error.message === '' ? (error.errors?.map(messageOf).join('; ') ?? error.code ?? 'unknown') : error.message
}
