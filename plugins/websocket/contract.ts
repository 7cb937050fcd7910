import { type Described, defineService, type JsonSchema, type RouteInput, type Sendable, type StateOf, type UseEntry } from 'zin'

declare module 'zin' {
  interface PluginMethods {
    /**
     * Registers a WebSocket. Its guards, its checks of host and origin, and its validation are those of a route; a refused client gets an HTTP
     * status and a body with a code. Messages are JSON. For the plugins that name `websocket` in `dependencies`.
     *
     * @example
     * ctx.socket({
     *   path: '/rooms/:room',
     *   use: ['auth'],
     *   message: Type.Object({ text: Type.String({ maxLength: 500 }) }),
     *   onOpen: (socket) => socket.join(`room:${socket.params.room}`),
     *   handler: (socket, message) => socket.send({ heard: message.text }),
     * })
     */
    socket<
      const Path extends string,
      const P extends JsonSchema | undefined = undefined,
      const Q extends JsonSchema | undefined = undefined,
      const M extends JsonSchema | undefined = undefined,
      const S extends JsonSchema | undefined = undefined,
      const Use extends readonly UseEntry[] | undefined = undefined,
    >(spec: SocketSpec<P, Q, M, S, Path, Use>): void
  }
}

/** One connected client. */
export interface ClientSocket<Params = unknown, Query = unknown, State = unknown, Sent = unknown> {
  /** The `x-request-id` of its handshake. */
  readonly id: string
  /** Parameters of the path, validated. */
  readonly params: Params
  /** The query of the handshake, validated. It appears in logs of proxies: no secrets. */
  readonly query: Query
  /** What the guards set, such as `state.user`. */
  readonly state: State
  /** Address of the client. */
  readonly ip: string
  /** The subprotocol that was agreed on; empty if the client offered none. */
  readonly protocol: string
  /** Aborted when the connection ends, to stop work that is done for it. */
  readonly signal: AbortSignal
  /** Bytes sent that the client has not read. */
  readonly bufferedBytes: number
  /**
   * Sends a message as JSON. Returns false if the connection has ended, or ends now because the client reads too slowly
   * (`maxBufferedBytes`).
   */
  send(message: Sent): boolean
  /** Waits until the client has read what was sent. Resolves with false when the connection ends first. */
  drained(): Promise<boolean>
  /** From now on, messages published to a topic are sent to it. Throws SOCKET_TOO_MANY_TOPICS, SOCKET_TOPIC_INVALID. */
  join(topic: string): void
  leave(topic: string): void
  /** Ends the connection. `code` is 1000 (default) or 3000 to 4999, `reason` at most 123 bytes and readable by the client. */
  close(code?: number, reason?: string): void
}

/** The end of a connection. */
export interface SocketEnd {
  /** 1000 to 4999; 1006 if the connection was cut. */
  readonly code: number
  readonly reason: string
}

/** A socket as a plugin declares it. */
export interface SocketSpec<
  P extends JsonSchema | undefined = undefined,
  Q extends JsonSchema | undefined = undefined,
  M extends JsonSchema | undefined = undefined,
  S extends JsonSchema | undefined = undefined,
  Path extends string = string,
  Use extends readonly UseEntry[] | undefined = undefined,
> {
  /** As in a route: `/rooms/:room`. */
  readonly path: Path
  /** One line for `/docs` and `zin routes`. Default: `Messages at <path>`. */
  readonly summary?: string
  /** A paragraph for OpenAPI and `/docs`. */
  readonly description?: string
  /** Group in `/docs`. Default: the plugin's name. */
  readonly tag?: string
  /** Middleware that runs before the connection is accepted, as for a route: keys, or guards such as `role('admin')`. They type `socket.state`. */
  readonly use?: Use
  /** Schema of the parameters in the path. */
  readonly params?: P
  /** Schema of the query. */
  readonly query?: Q
  /** Schema of the messages of clients. Without it, a message is any JSON. */
  readonly message?: M
  /** Schema of the messages that are sent, for OpenAPI. It types `socket.send`. */
  readonly sends?: S
  /** Subprotocols that it speaks. Default: `zin`. A client that offers none is accepted. */
  readonly protocols?: readonly string[]
  /** As the option of the plugin, for this socket. */
  readonly origins?: readonly string[]
  /** As the option of the plugin, for this socket. */
  readonly maxMessageBytes?: number
  /** As the option of the plugin, for this socket. */
  readonly messagesPerSecond?: number
  /** Called when a client has connected, before its first message. An error ends the connection with code 1011. */
  onOpen?(socket: SocketOf<P, Q, S, Path, Use>): unknown
  /**
   * Handles a message. One at a time per connection, in order; while it runs, no more are read. A thrown ZinError is sent to the client as a
   * message with its code; any other error as a 500 without details in production. Without it, the socket only sends: `onOpen` joins topics, and a
   * client that sends anything loses the connection, with code 1003.
   */
  handler?(socket: SocketOf<P, Q, S, Path, Use>, message: RouteInput<undefined, undefined, M>['body']): unknown
  /** Called once, when the connection has ended, whichever side ended it. */
  onClose?(socket: SocketOf<P, Q, S, Path, Use>, end: SocketEnd): unknown
}

/** The type of the client of a socket. */
export type SocketOf<P, Q, S, Path extends string, Use> = ClientSocket<
  RouteInput<P, Q, undefined, Path>['params'],
  RouteInput<P, Q, undefined, Path>['query'],
  StateOf<Use>,
  S extends JsonSchema ? Sendable<Described<S>> : unknown
>

// biome-ignore lint/suspicious/noExplicitAny: a socket of any shape
export type AnySocketSpec = SocketSpec<any, any, any, any, any, any>

/** Sends to the clients of all processes. */
export interface Sockets {
  /** Number of open connections of this process. */
  readonly size: number
  /**
   * Sends a message as JSON to every connection that joined a topic, on every process if the plugin `cluster` is enabled. Those of this
   * process get it at once. Rejects with CLUSTER_UNAVAILABLE if other processes could not be told, SOCKET_PUBLISH_TOO_LARGE,
   * SOCKET_TOPIC_INVALID. There is no history: who joins later does not get it.
   */
  publish(topic: string, message: unknown): Promise<void>
}

export const websocketService = defineService<Sockets>('websocket')
