import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ZinError } from 'zin'
import { consoleErrors } from './errors.js'

/**
 * Lets in the browser that opens a link. The token of a link is good once: it is exchanged for a cookie, so that it stays neither in the
 * address nor in the history. Other accounts of this machine reach the port, and have neither.
 */
export class LinkAccess {
  readonly #session = randomBytes(32).toString('base64url')
  #token: Buffer | undefined

  /** A link that works once; the one before it works no more. @param url the origin of the console. */
  link(url: string): string {
    const token = randomBytes(32).toString('base64url')
    this.#token = digestOf(token)
    return `${url}/console?token=${token}`
  }

  /** The cookie for a token, as the value of `Set-Cookie`; undefined: the token is wrong, or was used. */
  exchange(token: string, req: IncomingMessage): string | undefined {
    if (this.#token === undefined || !timingSafeEqual(digestOf(token), this.#token)) return undefined
    this.#token = undefined
    return `${cookieName(req)}=${this.#session}; Path=/; HttpOnly; SameSite=Strict`
  }

  /** Why a request is refused that brings no token. */
  refusalOf(req: IncomingMessage): ZinError | undefined {
    const start = `${cookieName(req)}=`
    const given = (req.headers.cookie ?? '').split(/; */).find((one) => one.startsWith(start))
    const isKnown = given !== undefined && timingSafeEqual(digestOf(given.slice(start.length)), digestOf(this.#session))
    return isKnown ? undefined : consoleErrors.CONSOLE_LINK_REQUIRED()
  }
}

/** By port: cookies of a host are those of all its ports. */
function cookieName({ socket }: IncomingMessage): string {
  return `zin-console-${socket.localPort}`
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest()
}
