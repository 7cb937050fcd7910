import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http'
import type { LookupFunction } from 'node:net'
import { messageOf, ZinError } from '../errors.js'
import { egressErrors } from './errors.js'
import type { ResolvedAddress } from './resolve.js'

export interface EgressResponse {
  readonly status: number
  /** By lower-case name. */
  readonly headers: IncomingHttpHeaders
  /** The raw bytes. No compression is requested and nothing is decompressed. */
  readonly body: Buffer
  /** URL of the response, after redirects. */
  readonly url: string
}

export interface Hop {
  readonly url: URL
  readonly addresses: readonly ResolvedAddress[]
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly maxBytes: number
  readonly signal: AbortSignal
  readonly ca: string | undefined
}

/** Sends one request to one of the given addresses, on a separate connection. */
export async function send(hop: Hop): Promise<EgressResponse> {
  const { url, signal } = hop
  // Imported lazily: most apps never send requests, and loading TLS is slow.
  const { request: open } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const options: RequestOptions & { ca?: string } = {
      method: hop.method,
      headers: hop.headers,
      // A pooled connection might go to an address from another lookup.
      agent: false,
      lookup: lookupOf(hop.addresses),
      signal,
      ...(hop.ca === undefined ? {} : { ca: hop.ca }),
    }
    const fail = (error: unknown): void => {
      const reason: unknown = signal.aborted ? signal.reason : error
      reject(reason instanceof ZinError || signal.aborted ? reason : egressErrors.EGRESS_FAILED(url.origin, messageOf(reason)))
    }
    const request = open(url, options, (response) => {
      read(response, hop).then((body) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, url: url.href })
      }, fail)
    })
    request.on('error', fail)
    request.end(hop.body)
  })
}

async function read(response: IncomingMessage, { url, maxBytes }: Hop): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw egressErrors.EGRESS_TOO_LARGE(url.origin, maxBytes)
      chunks.push(chunk)
    }
  } finally {
    // The connection is not reused.
    response.destroy()
  }
  return Buffer.concat(chunks, size)
}

/** Resolves to the checked addresses, whatever DNS returns now. */
function lookupOf(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_hostname, options, done) => {
    const [first] = addresses
    if (options.all === true) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}
