import type { Context } from 'koa'
import type { WebSocket, WebSocketServer } from 'ws'
import { accessOf, ClientLimit, type Clock, type Logger, type RouteContext, requestContext, type UpgradeConnection } from 'zin'
import { Connection, type ConnectionLimits } from './connection.js'
import type { AnySocketSpec } from './contract.js'
import { websocketErrors } from './errors.js'
import { checkHandshake, checkOrigin, checkProtocols } from './handshake.js'
import type { WebsocketOptions } from './options.js'
import { Topics } from './topics.js'

/** How long a client may take to answer a close frame, in ms; then it is cut. */
const closeMs = 5_000

export interface ServerParts {
  readonly options: WebsocketOptions
  /** Of the package ws, once it is loaded. */
  readonly open: (options: object) => WebSocketServer
  readonly clock: Clock
  readonly log: Logger
  readonly production: boolean
}

/** The connections of this process. */
export class SocketServer {
  readonly topics = new Topics()
  readonly #parts: ServerParts
  readonly #open = new Map<Connection, AnySocketSpec>()
  readonly #limit: ClientLimit
  readonly #messages = { in: 0, out: 0 }
  #closed = false

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.#limit = new ClientLimit({
      perClient: parts.options.maxPerClient,
      total: parts.options.maxConnections,
      perClientError: websocketErrors.TOO_MANY_SOCKETS,
      totalError: websocketErrors.SOCKETS_EXHAUSTED,
    })
  }

  get size(): number {
    return this.#open.size
  }

  /** Number of messages since the start. */
  get messages(): { readonly in: number; readonly out: number } {
    return this.#messages
  }

  /** Returns the function that accepts connections of one socket. */
  acceptor(spec: AnySocketSpec, protocols: readonly string[]): (ctx: RouteContext, connection: UpgradeConnection) => void {
    const { options, open } = this.#parts
    const origins = spec.origins ?? options.origins
    // Opened with the first connection: a plugin of the same level declares its sockets while the package is loaded.
    let server: WebSocketServer | undefined
    return (ctx, connection) => {
      checkHandshake(ctx.req)
      checkOrigin(ctx, origins)
      checkProtocols(ctx.req, protocols)
      if (this.#closed) throw websocketErrors.SOCKETS_CLOSED()
      const release = this.#limit.admit(ctx)
      const maxPayload = spec.maxMessageBytes ?? options.maxMessageBytes
      server ??= open({
        noServer: true,
        clientTracking: false,
        maxPayload,
        // Each piece of an incomplete message takes a hundred bytes beside its content.
        maxFragments: Math.max(128, Math.ceil(maxPayload / 4096)),
        maxBufferedChunks: Math.max(1024, Math.ceil(maxPayload / 512)),
        perMessageDeflate: options.perMessageDeflate && {
          concurrencyLimit: 4,
          serverNoContextTakeover: true,
          clientNoContextTakeover: true,
        },
        closeTimeout: closeMs,
        // The client's first one that the socket speaks.
        handleProtocols: (offered: ReadonlySet<string>) => [...offered].find((name) => protocols.includes(name)) ?? false,
      })
      try {
        const ws = upgraded(server, ctx, connection)
        connection.taken()
        this.#connect({ ws, ctx, connection, spec, release })
      } catch (error) {
        release()
        throw error
      }
    }
  }

  #connect({ ws, ctx, connection, spec, release }: Accepted): void {
    const { options, clock, log, production } = this.#parts
    const limits: ConnectionLimits = { ...options, messagesPerSecond: spec.messagesPerSecond ?? options.messagesPerSecond }
    const facts = { id: requestContext()?.requestId ?? '', params: ctx.input.params, query: ctx.input.query, state: ctx.state, ip: ctx.ip }
    const { read } = connection
    const counted = (direction: 'in' | 'out'): void => void this.#messages[direction]++
    const { userId } = requestContext() ?? {}
    const parts = { ws, spec, limits, facts, userId, access: accessOf(ctx), read, topics: this.topics, clock, log, production, counted }
    const client = new Connection(parts)
    this.#open.set(client, spec)
    void client.closed.then(() => {
      this.#open.delete(client)
      release()
    })
  }

  /** Ends the connections of a user whose access has ended. */
  async recheck(userId: string): Promise<void> {
    await Promise.all([...this.#open.keys()].filter((client) => client.userId === userId).map((client) => client.recheck()))
  }

  /** Accepts no more connections, and ends the open ones. */
  async close(ms: number): Promise<void> {
    this.#closed = true
    await this.#end([...this.#open.keys()], ms)
  }

  /** Ends the connections of one socket. */
  closeOf(spec: AnySocketSpec, ms: number): Promise<void> {
    return this.#end(
      [...this.#open].filter(([, own]) => own === spec).map(([client]) => client),
      ms,
    )
  }

  async #end(clients: readonly Connection[], ms: number): Promise<void> {
    if (clients.length === 0) return
    const timer = setTimeout(() => clients.forEach((client) => client.cut()), ms)
    await Promise.all(clients.map((client) => client.drain()))
    clearTimeout(timer)
  }
}

interface Accepted {
  readonly ws: WebSocket
  readonly ctx: RouteContext
  readonly connection: UpgradeConnection
  readonly spec: AnySocketSpec
  readonly release: () => void
}

/** Writes the response 101. Throws if the library refuses the request, so that the refusal is a response like any other. */
function upgraded(server: WebSocketServer, { req }: Context, { socket, head }: UpgradeConnection): WebSocket {
  let accepted: WebSocket | undefined
  let refused: Error | undefined
  const onRefusal = (error: Error): void => {
    refused = error
  }
  server.once('wsClientError', onRefusal)
  try {
    server.handleUpgrade(req, socket, head, (ws) => {
      accepted = ws
    })
  } finally {
    server.off('wsClientError', onRefusal)
  }
  if (accepted === undefined) throw websocketErrors.SOCKET_HANDSHAKE_INVALID(refused?.message ?? 'the connection has ended')
  return accepted
}
