import type { IncomingMessage } from 'node:http'
import { clientNetwork, isOwnOrigin, type ZinError } from 'zin'
import { isForwarded } from 'zin/plugins/ops'
import type { FailureThrottle } from 'zin/plugins/queue-monitor'
import { isSameSecret } from 'zin/signing'
import { consoleErrors } from './errors.js'
import type { LinkAccess } from './link-access.js'

/** The only user of the console on its own port. */
export interface BasicUser {
  readonly username: string
  readonly password: string
}

/** The user, and the throttle for failed sign-in attempts per network. */
export interface StandaloneAccess {
  readonly user: BasicUser
  readonly throttle: FailureThrottle
}

export interface AccessRules {
  readonly auth: StandaloneAccess | undefined
  /** Without `auth`: only browsers that opened a link have access. */
  readonly links?: LinkAccess
  readonly readOnly: boolean
}

/** Without a password, only local host names are accepted, to prevent DNS rebinding, and nothing that a proxy has forwarded. */
export function wrongName({ headers }: IncomingMessage, auth: StandaloneAccess | undefined): ZinError | undefined {
  if (auth !== undefined) return undefined
  if (isForwarded(headers))
    return consoleErrors.CONSOLE_FORBIDDEN('The request was forwarded by a proxy; set the option auth of the console')
  if (isLocalName(headers.host)) return undefined
  return consoleErrors.CONSOLE_FORBIDDEN('Open the console as 127.0.0.1, localhost or [::1]')
}

/** Returns the error for a request with wrong credentials, from another site, or that changes something in read-only mode. */
export function refusalOf(req: IncomingMessage, { auth, links, readOnly }: AccessRules): ZinError | undefined {
  const { headers, method = 'GET' } = req
  const wrong = wrongName(req, auth) ?? (auth === undefined ? links?.refusalOf(req) : wrongUser(req, auth))
  if (wrong !== undefined) return wrong
  const reads = method === 'GET' || method === 'HEAD'
  const site = headers['sec-fetch-site']
  const isPage = headers['sec-fetch-mode'] === 'navigate' && reads
  const isForeign = headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host)
  if (!isPage && (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none')))
    return consoleErrors.CONSOLE_FORBIDDEN('The request was sent by a page of another site')
  if (reads) return undefined
  if (readOnly) return consoleErrors.CONSOLE_FORBIDDEN('This console is read-only')
  return headers['x-requested-with'] === undefined
    ? consoleErrors.CONSOLE_FORBIDDEN('A request that changes something requires the header X-Requested-With')
    : undefined
}

function wrongUser({ headers: { authorization }, socket }: IncomingMessage, { throttle, user }: StandaloneAccess): ZinError | undefined {
  // The 401 makes the browser prompt for the password; it is not a failed attempt.
  if (authorization === undefined) return consoleErrors.CONSOLE_UNAUTHORIZED()
  // The right password always passes: whoever shares the network with an attacker is not locked out.
  if (isUser(user, authorization)) return undefined
  const network = clientNetwork(socket.remoteAddress ?? '')
  const wait = throttle.waitSeconds(network)
  if (wait > 0) return consoleErrors.CONSOLE_THROTTLED(wait)
  throttle.failed(network)
  return consoleErrors.CONSOLE_UNAUTHORIZED()
}

function isLocalName(host: string | undefined): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host ?? '')
}

/** Always compares both. */
function isUser({ password, username }: BasicUser, header: string): boolean {
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header)?.[1] ?? ''
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = Math.max(0, text.indexOf(':'))
  const names = isSameSecret(text.slice(0, colon), username)
  const passwords = isSameSecret(text.slice(colon + 1), password)
  return Number(names) + Number(passwords) === 2
}
