import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { addressKind, HostCheck, type Logger, messageOf } from 'zin'
import type { Metrics } from '../contract.js'
import { observabilityErrors } from '../errors.js'

export interface MetricsServerOptions {
  readonly host: string
  readonly port: number
  readonly page: Metrics['page']
  readonly log: Logger
}

const maxConnections = 50
const timeoutMs = 10_000

/** Serves only `/metrics`, on a separate port. */
export class MetricsServer {
  readonly #options: MetricsServerOptions
  #server: Server | undefined
  /** Set on a loopback address, so that web pages of other sites cannot read the metrics by DNS rebinding. */
  #hosts: HostCheck | undefined

  constructor(options: MetricsServerOptions) {
    this.#options = options
  }

  get address(): Metrics['address'] {
    const bound = this.#server?.address() as AddressInfo | null | undefined
    return bound ? { host: bound.address, port: bound.port } : undefined
  }

  /** Throws METRICS_PORT_UNAVAILABLE. */
  async open(): Promise<void> {
    const { host, port } = this.#options
    const limits = { requestTimeout: timeoutMs, headersTimeout: timeoutMs, maxHeaderSize: 8192, connectionsCheckingInterval: 1_000 }
    const server = createServer(limits, (request, response) => {
      void this.#serve(request, response)
    })
    limitConnections(server)
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, exclusive: true }, resolve)
      })
    } catch (error) {
      throw observabilityErrors.METRICS_PORT_UNAVAILABLE(host, port, reasonOf(error))
    }
    server.on('error', (error) => this.#options.log.warn({ err: error }, `error on the metrics port: ${messageOf(error)}`))
    this.#server = server
    const { address, port: bound } = server.address() as AddressInfo
    this.#hosts = addressKind(address) === 'loopback' ? new HostCheck(['127.0.0.1', '[::1]', 'localhost']) : undefined
    this.#hosts?.setPort(bound)
  }

  async close(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  async #serve({ headers, method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#hosts?.accepts(headers.host) === false)
      return end(response, 421, 'This port accepts only the hosts 127.0.0.1, [::1] and localhost\n')
    if (url.split('?')[0] !== '/metrics') return end(response, 404, 'This port serves only /metrics\n')
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      return end(response, 405, 'Use GET or HEAD\n')
    }
    try {
      const { body, contentType } = await this.#options.page(headers.accept)
      response.setHeader('content-type', contentType)
      response.setHeader('vary', 'accept')
      response.end(body)
    } catch (error) {
      this.#options.log.error({ err: error }, `the metrics could not be collected: ${messageOf(error)}`)
      end(response, 500, 'The metrics could not be collected; see the app log for the reason\n')
    }
  }
}

/** Keeps at most `maxConnections`. A new one replaces the oldest that has no request, so that idle and half-open ones block nobody. */
function limitConnections(server: Server): void {
  const open = new Set<Socket>()
  const idle = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    if (open.size >= maxConnections) {
      const [oldest = socket] = idle
      oldest.destroy()
      // Its close event comes later.
      forget(oldest)
      if (oldest === socket) return
    }
    open.add(socket)
    idle.add(socket)
    socket.once('close', () => forget(socket))
  })
  server.on('request', ({ socket }, response) => {
    idle.delete(socket)
    response.once('close', () => open.has(socket) && idle.add(socket))
  })
  function forget(socket: Socket): void {
    open.delete(socket)
    idle.delete(socket)
  }
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text)
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use. Set METRICS_PORT to a free port (0 picks one), or stop the process that uses it',
  EACCES: 'this user is not allowed to use the port. Set METRICS_PORT to 1024 or higher',
  EADDRNOTAVAIL: 'it is not an address of this machine. Set METRICS_HOST to an address of this machine, or to 0.0.0.0',
  ENOTFOUND: 'the host is unknown. Set METRICS_HOST to an address of this machine, or to 0.0.0.0',
}

function reasonOf(error: unknown): string {
  return reasons[(error as NodeJS.ErrnoException).code ?? ''] ?? messageOf(error)
}
