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

const guarded = (name: string): boolean => name === 'host' || name === 'authorization' || name.startsWith('content-')

/**
 * Returns the name of a repeated header that must be unique. Node keeps the first of some repeated headers and joins others,
 * so that two readers may see different values. The raw list is read only if it has more names than the parsed headers.
 */
export function repeatedHeader(req: IncomingMessage): string | undefined {
  const raw = req.rawHeaders
  let names = 0
  for (const _ in req.headers) names++
  if (names * 2 === raw.length) return undefined
  const seen = new Set<string>()
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    if (!guarded(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** Whether the headers of a request announce a body. */
export function announcesBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length']
  return (length !== undefined && length !== '0') || req.headers['transfer-encoding'] !== undefined
}
