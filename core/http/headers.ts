import type { IncomingMessage } from 'node:http'

const wellFormedId = /^[A-Za-z0-9._-]{8,128}$/

/** Returns the inbound `x-request-id` if it is well formed. */
export function inboundRequestId(req: IncomingMessage): string | undefined {
  const inbound = req.headers['x-request-id']
  return typeof inbound === 'string' && wellFormedId.test(inbound) ? inbound : undefined
}

/** Lists to which each proxy adds a value. `X-Forwarded-For` is read by Koa, which counts from the end, too. */
const forwarded = ['x-forwarded-host', 'x-forwarded-proto'] as const

/** Keeps of each forwarded list the value of the outermost trusted proxy. Those before it come from the client. A protocol is http or https. */
export function keepTrusted({ headers }: IncomingMessage, proxies: number): void {
  for (const name of forwarded) {
    const value = headers[name]
    if (typeof value !== 'string' || !value.includes(',')) continue
    const values = value.split(',')
    headers[name] = values[Math.max(0, values.length - proxies)]?.trim()
  }
  const protocol = headers['x-forwarded-proto']
  if (protocol !== undefined && !/^https?$/i.test(String(protocol))) delete headers['x-forwarded-proto']
}

/** Names of headers that must be unique begin with one of these letters. */
const H = 0x68
const A = 0x61
const C = 0x63

/** Whether a header must be unique: `host`, `authorization`, `content-…`. Most names differ in their first letter or length. */
function isGuarded(name: string): boolean {
  // Makes an ASCII letter lower case.
  const first = name.charCodeAt(0) | 0x20
  if (first === H) return name.length === 4 && name.toLowerCase() === 'host'
  if (first === A) return name.length === 13 && name.toLowerCase() === 'authorization'
  return first === C && name.length > 8 && name.slice(0, 8).toLowerCase() === 'content-'
}

/**
 * Returns the name of a repeated header that must be unique. Node keeps the first of some repeated headers and joins others,
 * so that two readers may see different values.
 */
export function repeatedHeader({ rawHeaders }: IncomingMessage): string | undefined {
  let seen: string[] | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string
    if (!isGuarded(raw)) continue
    const name = raw.toLowerCase()
    if (seen === undefined) seen = [name]
    else if (seen.includes(name)) return name
    else seen.push(name)
  }
  return undefined
}

/** Headers that describe the body of a response, in lower case: an error response, which replaces it, has others. */
export const bodyHeaders = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-disposition',
  'content-range',
  'etag',
  'last-modified',
  'transfer-encoding',
]

/** Whether the headers of a request announce a body. */
export function announcesBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length']
  return (length !== undefined && length !== '0') || req.headers['transfer-encoding'] !== undefined
}
