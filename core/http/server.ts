import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { createServer, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ZinError } from '../errors.js'
import type { Address } from '../util/address.js'
import type { Clock } from '../util/clock.js'
import { httpErrors } from './errors.js'
import { Incoming } from './incoming.js'
import { StalledClients } from './stalled.js'
import type { OpenedUpgrade } from './upgrade.js'

/** Time limit for the headers and for the whole request, in ms. */
const headersTimeout = 20_000
const requestTimeout = 120_000
/** Keep-alive timeout in ms; longer than that of common load balancers, which must close first. */
const keepAliveTimeout = 65_000
/** How long connections that are idle when draining begins stay open, in ms: a request may already be on its way. */
const idleGraceMs = 100
const drainCheckMs = 20
const stalledCheckMs = 5000

/** How long a client whose upgrade was refused may take to close its connection, in ms. */
const refusedMs = 1000

/** Serves requests that ask to change to another protocol. */
export interface UpgradeListener {
  /** Whether a request is one. Others are served as ordinary requests. Called once per request with a header `Upgrade`. */
  readonly serves: (req: IncomingMessage) => boolean
  /** `res` is assigned to the connection, which is closed after a response. */
  readonly receive: (req: IncomingMessage, res: ServerResponse, upgrade: OpenedUpgrade) => void
}

/** An HTTP server that can be drained. It accepts connections on its port and from {@link HttpServer.connect}. */
export class HttpServer {
  readonly #http: Server
  /** Of this server only, so that it can decide what is an upgrade. */
  readonly #incoming = class extends Incoming {}
  readonly #sockets = new Set<Socket>()
  readonly #stalled = new StalledClients()
  #stalledTimer: NodeJS.Timeout | undefined

  constructor(listener: RequestListener, clock: Clock) {
    this.#http = createServer(
      // Node would refuse a request without `Host` with an empty body; the pipeline does it with ours.
      {
        IncomingMessage: this.#incoming,
        headersTimeout,
        requestTimeout,
        keepAliveTimeout,
        connectionsCheckingInterval: 5000,
        requireHostHeader: false,
      },
      listener,
    )
    // By default Node silently drops headers beyond 2000, which checks would then miss. Their total size is bounded anyway.
    this.#http.maxHeadersCount = 0
    // Without this listener Node sends `100 Continue` to every client; ours sends it when the body is read.
    this.#http.on('checkContinue', (req, res) => {
      ;(req as Incoming).continueWhenRead(res)
      listener(req, res)
    })
    // Without this one, it responds to any other expectation with an empty 417.
    this.#http.on('checkExpectation', listener)
    this.#http.on('clientError', respondToClientError)
    this.#http.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      this.#stalledTimer ??= setInterval(() => this.#stalled.check(this.#sockets, clock.monotonic()), stalledCheckMs).unref()
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Serves upgrades, from the first call on; an app without them pays nothing for it. */
  serveUpgrades(listener: UpgradeListener): void {
    if (this.#http.listenerCount('upgrade') > 0) return
    decideUpgrades(this.#incoming.prototype, listener.serves)
    this.#http.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
      // Node has removed its listeners: without one, a reset by the client would end the process.
      socket.on('error', () => socket.destroy())
      // An earlier request on this connection has not been answered.
      if ((socket as Socket & { _httpMessage?: unknown })._httpMessage) {
        socket.destroy()
        return
      }
      const res = new ServerResponse(req)
      res.shouldKeepAlive = false
      res.assignSocket(socket)
      res.once('finish', () => endRefused(socket))
      listener.receive(req, res, { socket, head })
    })
  }

  /** Serves one end of an in-process connection. */
  connect(connection: Duplex): void {
    this.#http.emit('connection', connection)
  }

  listen({ host, port }: Address): Promise<Address> {
    return new Promise((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException): void => reject(listenFailed(error, host, port))
      this.#http.once('error', onError)
      this.#http.listen({ host, port }, () => {
        this.#http.off('error', onError)
        const bound = this.#http.address()
        resolve({ host, port: typeof bound === 'object' && bound !== null ? bound.port : port })
      })
    })
  }

  /** Stops accepting, waits until every connection is closed, and cuts those that are left at the deadline. */
  async drain(deadlineMs: number): Promise<{ readonly forced: number }> {
    this.#stopAccepting()
    // Sockets close in real time, whatever the clock of the app.
    const began = performance.now()
    let forced = 0
    await new Promise<void>((resolve) => {
      const check = (): void => {
        const waited = performance.now() - began
        if (waited >= idleGraceMs) this.#closeIdle()
        if (waited >= deadlineMs) {
          forced = this.#sockets.size
          for (const socket of this.#sockets) socket.destroy()
        } else if (this.#sockets.size > 0) return
        clearInterval(timer)
        resolve()
      }
      const timer = setInterval(check, drainCheckMs)
      check()
    })
    await this.close()
    return { forced }
  }

  /** Closes the port and every connection immediately. */
  async close(): Promise<void> {
    this.#stopAccepting()
    clearInterval(this.#stalledTimer)
    this.#stalledTimer = undefined
    // A second close only stops the timer that watches connections.
    this.#http.close()
    const closed = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(closed)
  }

  /** Closes the port only. `close` of an HTTP server would also cut idle connections, whose next request may be on its way. */
  #stopAccepting(): void {
    if (this.#http.listening) NetServer.prototype.close.call(this.#http)
  }

  #closeIdle(): void {
    this.#http.closeIdleConnections()
    // Node does not count connections that never sent a byte as idle.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
  }
}

const stored = Symbol('zin.upgrade')
const decided = Symbol('zin.isUpgrade')

/**
 * Node treats every request with a header `Upgrade` as an upgrade once somebody listens to `upgrade`, and gives up parsing it: one that asks
 * for `h2c`, as some clients always do, would lose its body. So the request itself says whether it is one.
 */
function decideUpgrades(prototype: object, serves: (req: IncomingMessage) => boolean): void {
  type Deciding = IncomingMessage & { [stored]?: unknown; [decided]?: boolean }
  Object.defineProperty(prototype, 'upgrade', {
    configurable: true,
    get(this: Deciding) {
      if (!this[stored]) return this[stored]
      if (this.method === 'CONNECT') return true
      this[decided] ??= serves(this)
      return this[decided]
    },
    set(this: Deciding, value: unknown) {
      this[stored] = value
    },
  })
}

/** Closes the connection of a refused upgrade. Closing at once would reset it, and the client might lose the response. */
function endRefused(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), refusedMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.resume()
  socket.end()
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; stop the other process or choose another port with PORT=…',
  EACCES: 'permission denied; choose a port of 1024 or higher with PORT=…',
  EADDRNOTAVAIL: 'this machine has no such address; correct HOST=…',
  ENOTFOUND: 'the host name is unknown; correct HOST=…',
}

function listenFailed(error: NodeJS.ErrnoException, host: string, port: number): ZinError {
  const reason = reasons[error.code ?? ''] ?? error.message
  return httpErrors.ZIN_LISTEN_FAILED(host, port, reason, error)
}

const clientErrors: Readonly<Record<string, readonly [status: string, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'REQUEST_HEADER_FIELDS_TOO_LARGE', 'The headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'REQUEST_TIMEOUT', 'The request took too long to arrive'],
}

/** Responds to a request that is not valid HTTP. If part of a response was already sent, the connection can only be cut. */
function respondToClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  const responding = (socket as Duplex & { _httpMessage?: { headersSent: boolean } | null })._httpMessage
  if (error.code === 'ECONNRESET' || !socket.writable || responding?.headersSent) {
    socket.destroy()
    return
  }
  const [status, code, message] = clientErrors[error.code ?? ''] ?? ['400 Bad Request', 'BAD_REQUEST', 'The request is not valid HTTP']
  const body = JSON.stringify({ error: status.slice(4), message, code })
  const head = [
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Cache-Control: no-store',
    'Connection: close',
  ]
  socket.end(`HTTP/1.1 ${status}\r\n${head.join('\r\n')}\r\n\r\n${body}`)
}
