import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { bytesOf, parseResponse, type WireRequest, type WireResponse } from './wire.js'

/** Sends requests at the same time, each on its own connection. Returns the responses in the order of the requests. */
export type Sender = (requests: readonly WireRequest[]) => Promise<readonly WireResponse[]>

export interface SenderOptions {
  readonly origin: URL
  readonly signal: AbortSignal
  /** Timeout of one request, in ms. */
  readonly timeoutMs: number
}

/** Uses raw sockets: an HTTP client would repair malformed requests. Throws when nothing listens. */
export function createSender(options: SenderOptions): Sender {
  return async (requests) => {
    const opened = await Promise.allSettled(requests.map(() => open(options)))
    const sockets = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const stop = (): void => {
      for (const socket of sockets) socket.destroy()
    }
    options.signal.addEventListener('abort', stop)
    try {
      const failed = opened.find((result) => result.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      // All connect before the first request is sent, so that copies arrive together.
      return await Promise.all(requests.map((request, index) => talk(sockets[index] as Socket, request, options.timeoutMs)))
    } finally {
      options.signal.removeEventListener('abort', stop)
      stop()
    }
  }
}

async function open({ origin, timeoutMs }: SenderOptions): Promise<Socket> {
  const host = origin.hostname.replace(/^\[(.*)\]$/, '$1')
  const secure = origin.protocol === 'https:'
  const port = Number(origin.port || (secure ? 443 : 80))
  const socket = secure ? connectTls({ host, port, servername: host, ALPNProtocols: ['http/1.1'] }) : connectTcp({ host, port })
  try {
    await once(socket, secure ? 'secureConnect' : 'connect', { signal: AbortSignal.timeout(timeoutMs) })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function talk(socket: Socket, request: WireRequest, timeoutMs: number): Promise<WireResponse> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    socket.setTimeout(timeoutMs, () => socket.destroy())
    socket.on('data', (chunk) => void chunks.push(chunk))
    // A server may reset the connection of a request that it does not read; a response sent before counts.
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(parseResponse(Buffer.concat(chunks))))
    socket.write(bytesOf(request), () => {
      if (request.framing === 'cut') socket.end()
    })
  })
}
