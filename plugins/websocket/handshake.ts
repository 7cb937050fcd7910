import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { isOwnOrigin } from 'zin'
import { websocketErrors } from './errors.js'

/** The subprotocol of every socket that names none: browsers need one beside the token. */
export const defaultProtocol = 'zin'

const token = /^[!#$%&'*+.^_`|~\w-]+$/
const key = /^[+/0-9A-Za-z]{22}==$/
const bearer = 'bearer.'

/** Throws 400 unless a request is a handshake of RFC 6455, so that the library never refuses one in its own words. */
export function checkHandshake({ headers, httpVersionMinor }: IncomingMessage): void {
  const wrong = websocketErrors.SOCKET_HANDSHAKE_INVALID
  if (httpVersionMinor < 1) throw wrong('it needs HTTP/1.1')
  if (!/(^|,)\s*upgrade\s*(,|$)/i.test(headers.connection ?? '')) throw wrong('the header Connection does not list "Upgrade"')
  if (!key.test(headers['sec-websocket-key'] ?? '')) throw wrong('the header Sec-WebSocket-Key is missing or malformed')
  if (headers['sec-websocket-version'] !== '13') throw wrong('the header Sec-WebSocket-Version is not 13')
}

/** Returns the subprotocols that a client offers. Throws 400 if they are malformed or repeated. */
function offered({ headers }: IncomingMessage): readonly string[] {
  const given = headers['sec-websocket-protocol']
  if (given === undefined) return []
  const names = given.split(',').map((name) => name.trim())
  if (!names.every((name) => token.test(name)) || new Set(names).size < names.length)
    throw websocketErrors.SOCKET_HANDSHAKE_INVALID('the header Sec-WebSocket-Protocol is malformed, or names a protocol twice')
  return names
}

/**
 * Takes the token out of the subprotocols, which are the only header that a browser lets a page set, and puts it where guards read it:
 * `bearer.<token>` becomes `Authorization: Bearer <token>`. It is removed from the header, so that nothing sends it back.
 */
export function adoptToken({ req }: Pick<Context, 'req'>, protocols: readonly string[]): void {
  const names = offered(req)
  const tokens = names.filter((name) => name.startsWith(bearer))
  if (tokens.length === 0) return
  // A credential that two readers would read differently.
  if (tokens.length > 1 || req.headers.authorization !== undefined) throw websocketErrors.SOCKET_PROTOCOL_REFUSED(protocols)
  req.headers.authorization = `Bearer ${tokens[0]?.slice(bearer.length)}`
  const others = names.filter((name) => !name.startsWith(bearer))
  // A browser that offers some ends a connection without one.
  if (others.length === 0) throw websocketErrors.SOCKET_PROTOCOL_REFUSED(protocols)
  req.headers['sec-websocket-protocol'] = others.join(', ')
}

/** Throws 400 if a client offers subprotocols, and the socket speaks none of them. */
export function checkProtocols(req: IncomingMessage, protocols: readonly string[]): void {
  const names = offered(req)
  if (names.length > 0 && !names.some((name) => protocols.includes(name))) throw websocketErrors.SOCKET_PROTOCOL_REFUSED(protocols)
}

/** Returns the problem of a configured origin, or undefined. */
export function originProblem(origin: string): string | undefined {
  if (origin === '*') return undefined
  try {
    if (new URL(origin).origin === origin.toLowerCase()) return undefined
  } catch {
    // Reported below.
  }
  return `has the origin "${origin}"; write scheme, host and port only, such as "https://shop.example.com"`
}

/**
 * Throws 403 if a browser connects for a page of another origin: it sends the visitor's cookies along, whichever page asks. Clients
 * other than browsers send no `Origin`.
 */
export function checkOrigin(ctx: Context, origins: readonly string[]): void {
  const { origin } = ctx.req.headers
  if (origin === undefined || origins.includes('*')) return
  const given = origin.toLowerCase()
  if (origins.some((allowed) => allowed.toLowerCase() === given) || isOwnOrigin(origin, ctx.host)) return
  throw websocketErrors.SOCKET_ORIGIN_REFUSED()
}
