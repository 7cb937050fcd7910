import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EdgeHandler } from '../worker/handler.js'
import { type EdgeRequest, joined } from '../worker/request.js'
import type { LocalServer } from './local-server.js'

/** Time limit for draining requests in flight, in ms. */
const drainMs = 5_000

export interface NodeServerParts {
  readonly handle: EdgeHandler
  readonly host: string
  readonly port: number
  /** Called when all requests have ended. */
  readonly onClose: () => Promise<void>
}

/** Serves the handler with Node's HTTP server. */
export async function startNodeServer({ handle, host, port, onClose }: NodeServerParts): Promise<LocalServer> {
  const server = createServer((req, res) => {
    void handle(requestOf(req)).then(({ status, headers, body }) => {
      // The rest of an unread body must not be parsed as the next request.
      if (!req.complete) res.setHeader('connection', 'close')
      send(res, status, headers, body)
    })
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 30_000
  server.listen(port, host)
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      const hard = setTimeout(() => server.closeAllConnections(), drainMs)
      await closed
      clearTimeout(hard)
      await onClose()
    },
  }
}

function send(res: ServerResponse, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  res.writeHead(status, headers)
  res.end(body)
}

function requestOf(req: IncomingMessage): EdgeRequest {
  const target = req.url ?? ''
  const mark = target.indexOf('?')
  const [pathname, search] = mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark)]
  return {
    method: req.method ?? '',
    pathname,
    search: search === '?' ? '' : search,
    headers: req.rawHeaders,
    body: (limit) => readBody(req, limit),
  }
}

async function readBody(req: IncomingMessage, limit: number): Promise<Uint8Array | undefined> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return undefined
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of req as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > limit) return undefined
    chunks.push(chunk)
  }
  return joined(chunks, length)
}
