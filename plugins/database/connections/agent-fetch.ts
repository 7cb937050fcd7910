import type { IncomingMessage, RequestOptions } from 'node:http'
import { Readable } from 'node:stream'

/** A fetch with its own connections. */
export interface AgentFetch {
  readonly fetch: typeof globalThis.fetch
  /** Closes the connections; requests in flight fail. */
  close(): void
}

/** Idle connections are closed before the server closes them (after 5 s in Node), because a request on a closing connection would fail. */
const idleMs = 3_000

/**
 * Creates a fetch for text bodies over at most `limit` keep-alive connections. Unlike those of the global fetch, its owner can close them.
 */
export async function agentFetch(url: string, limit: number): Promise<AgentFetch> {
  const { Agent, request } = await (url.startsWith('https:') ? import('node:https') : import('node:http'))
  const agent = new Agent({ keepAlive: true, maxSockets: limit, maxFreeSockets: limit, timeout: idleMs })

  const send = (target: URL, { method, headers, body, signal }: RequestInit): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const bytes = body instanceof ArrayBuffer ? new Uint8Array(body) : ((body ?? '') as string | Uint8Array)
      const options: RequestOptions = {
        agent,
        method: method ?? 'GET',
        headers: { ...Object.fromEntries(new Headers(headers)), 'content-length': String(Buffer.byteLength(bytes)) },
        ...(signal ? { signal } : {}),
      }
      request(target, options, resolve).on('error', reject).end(bytes)
    })

  return {
    async fetch(input, init = {}) {
      const response = await send(new URL(input instanceof Request ? input.url : input), init)
      const { statusCode: status = 502, rawHeaders } = response
      const headers = new Headers()
      for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
      // Response rejects a body for these statuses.
      const empty = status < 200 || status === 204 || status === 205 || status === 304
      if (empty) response.resume()
      return new Response(empty ? null : (Readable.toWeb(response) as ReadableStream), { status: status < 200 ? 502 : status, headers })
    },
    close: () => agent.destroy(),
  }
}
