import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ZinError } from 'zin'
import { isSameSecret } from 'zin/signing'
import { consoleErrors } from './errors.js'

/**
 * Grants access to the browser that opens a link. The token of a link works once: it is exchanged for a cookie, so it stays neither in the
 * URL nor in the browser history. Other accounts on this machine can reach the port but have neither token nor cookie.
 */
export class LinkAccess {
  readonly #session = randomBytes(32).toString('base64url')
  #token: string | undefined

  /** Returns a link that works once, and invalidates the previous link. @param url the origin of the console. */
  link(url: string): string {
    const token = randomBytes(32).toString('base64url')
    this.#token = token
    return `${url}/console?token=${token}`
  }

  /** Returns the `Set-Cookie` value for a token; undefined if the token is wrong or already used. */
  exchange(token: string, req: IncomingMessage): string | undefined {
    if (this.#token === undefined || !isSameSecret(token, this.#token)) return undefined
    this.#token = undefined
    return `${cookieName(req)}=${this.#session}; Path=/; HttpOnly; SameSite=Strict`
  }

  /** Checks the cookie of a request without a token. Returns the error if it is rejected. */
  refusalOf(req: IncomingMessage): ZinError | undefined {
    const start = `${cookieName(req)}=`
    const given = (req.headers.cookie ?? '').split(/; */).find((one) => one.startsWith(start))
    const isKnown = given !== undefined && isSameSecret(given.slice(start.length), this.#session)
    return isKnown ? undefined : consoleErrors.CONSOLE_LINK_REQUIRED()
  }
}

/** Includes the port, because browsers share the cookies of a host across its ports. */
function cookieName({ socket }: IncomingMessage): string {
  return `zin-console-${socket.localPort}`
}
