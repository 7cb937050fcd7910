import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Context } from 'koa'
import { rawResponse } from './context.js'
import { httpErrors } from './errors.js'
import { parseJson } from './json.js'
import type { JsonSchema, RouteContext } from './route.js'
import type { CheckedValue, Schemas } from './validate.js'

/** The connection of a request that asks to change to another protocol. */
export interface UpgradeConnection {
  readonly req: IncomingMessage
  readonly socket: Duplex
  /** What the client sent after the request. */
  readonly head: Buffer
  /**
   * Reads a message as a JSON body is read: the value, with defaults filled in, and what is wrong with it by the schema `message` of the route.
   * Throws 400 `INVALID_JSON`.
   */
  read(message: Buffer): ReadMessage | Promise<ReadMessage>
  /**
   * Call it once the response 101 is written. From then on the connection belongs to the caller, who ends it when shutdown begins (`onClose`);
   * the app cuts what is left. Until then an error becomes a response, as in any other route.
   */
  taken(): void
}

/** A message that is JSON, after the check by its schema. */
export type ReadMessage = CheckedValue

/** How a route takes over connections. */
export interface RouteUpgrade {
  /** The protocol in the header `Upgrade`, in lower case, such as `websocket`. */
  readonly protocol: string
  /** Schema of a message that the client sends, for `connection.read` and OpenAPI. */
  readonly message?: JsonSchema
  /** Schema of a message that the app sends, for OpenAPI. */
  readonly sends?: JsonSchema
  /** Facts for OpenAPI, beside the schemas. */
  readonly documented?: Readonly<Record<string, unknown>>
  /** Runs before the middleware of the route, such as to move a credential to where they read it. A thrown error becomes the response. */
  prepare?(ctx: Context): void
  /** Runs after the middleware of the route and the validation. Writes the response 101, then calls `connection.taken()`. */
  accept(ctx: RouteContext, connection: UpgradeConnection): void | Promise<void>
}

const opened = Symbol('zin.upgrade')

/** What the server knows about a request that asks for an upgrade. */
export interface OpenedUpgrade {
  readonly socket: Duplex
  readonly head: Buffer
}

interface Opened {
  [opened]?: OpenedUpgrade
}

export function setUpgrade(ctx: Context, upgrade: OpenedUpgrade): void {
  ;(ctx as Opened)[opened] = upgrade
}

export function upgradeOf(ctx: Context): OpenedUpgrade | undefined {
  return (ctx as Opened)[opened]
}

/** Status of a response whose connection was taken over: nothing more is sent. */
export const switchingProtocols = 101

/** Lets a route take the connection of a request. Throws if it neither takes it nor throws. */
export async function acceptUpgrade(
  ctx: Context,
  upgrade: RouteUpgrade,
  { socket, head }: OpenedUpgrade,
  check: ReturnType<Schemas['reader']>,
): Promise<void> {
  const res = rawResponse(ctx)
  const taken = (): void => {
    res.statusCode = switchingProtocols
    // `detachSocket` alone emits no `close`, which ends the request for logs and hooks.
    res.detachSocket(socket as never)
    res.emit('close')
  }
  const read = (message: Buffer) => check(parseJson(message))
  await upgrade.accept(ctx as RouteContext, { req: ctx.req, socket, head, read, taken })
  if (!isTaken(res)) throw httpErrors.UPGRADE_NOT_TAKEN(upgrade.protocol)
}

export const isTaken = (res: ServerResponse): boolean => res.statusCode === switchingProtocols && res.socket === null

/** Whether the header `Upgrade` of a request lists a protocol. */
export function asksFor(req: IncomingMessage, protocol: string): boolean {
  const { upgrade = '' } = req.headers
  return upgrade.split(',').some((name) => name.trim().toLowerCase() === protocol)
}
