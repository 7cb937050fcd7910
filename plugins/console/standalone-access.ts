import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ZinError } from 'zin'
import { consoleErrors } from './errors.js'

/** The one user of the console on its own port. */
export interface BasicUser {
  readonly username: string
  readonly password: string
}

/** Why a request is refused: its credentials, a page of another site, or because nothing may be changed. */
export function refusalOf(
  req: IncomingMessage,
  { auth, readOnly }: { readonly auth: BasicUser | undefined; readonly readOnly: boolean },
): ZinError | undefined {
  const { headers, method = 'GET' } = req
  if (auth === undefined && !isLocalName(headers.host)) return consoleErrors.CONSOLE_FORBIDDEN('Use the name 127.0.0.1, localhost or [::1]')
  if (auth !== undefined && !isUser(auth, headers.authorization)) return consoleErrors.CONSOLE_UNAUTHORIZED()
  const reads = method === 'GET' || method === 'HEAD'
  const site = headers['sec-fetch-site']
  const isPage = headers['sec-fetch-mode'] === 'navigate' && reads
  const isForeign =
    headers.origin !== undefined && headers.origin !== `http://${headers.host}` && headers.origin !== `https://${headers.host}`
  if (!isPage && (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none')))
    return consoleErrors.CONSOLE_FORBIDDEN('The request comes from a page of another site')
  if (reads) return undefined
  if (readOnly) return consoleErrors.CONSOLE_FORBIDDEN('This console is read-only')
  return headers['x-requested-with'] === undefined
    ? consoleErrors.CONSOLE_FORBIDDEN('A request that changes something requires the header X-Requested-With')
    : undefined
}

/** Names that a page of another site cannot have (DNS rebinding). */
function isLocalName(host: string | undefined): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host ?? '')
}

/** Compares digests in constant time, both always. */
function isUser({ password, username }: BasicUser, header: string | undefined): boolean {
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1] ?? ''
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = Math.max(0, text.indexOf(':'))
  const names = timingSafeEqual(digestOf(text.slice(0, colon)), digestOf(username))
  const passwords = timingSafeEqual(digestOf(text.slice(colon + 1)), digestOf(password))
  return Number(names) + Number(passwords) === 2
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest()
}
