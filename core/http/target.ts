const SLASH = 0x2f

/** Bytes that a target must not contain: control characters, space, non-ASCII, and `#`, which clients never send. */
const forbidden = /[^\x21-\x7e]|#/

/** Paths that a URL parser leaves unchanged: no dot segments, plain or encoded, and nothing that it would encode. */
const untouched = /^(?:\/(?!\.|%2e)[\w.!$&'()*+,;=:@~%-]*)+$/i

/** The path of a request target: everything before `?`. */
export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return end === -1 ? target : target.slice(0, end)
}

/** The query string of a request target, without its `?`. */
export function queryOf(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

const absolute = /^https?:\/\/([^/?#]*)(.*)$/i

/**
 * Returns a target in origin form. One in absolute form (RFC 9112 3.2.2) is converted if it names the host of the `Host` header: otherwise
 * two readers of the request could see different hosts.
 */
export function originForm(target: string, host: string | undefined): string {
  if (target.charCodeAt(0) === SLASH) return target
  const [, authority, rest = ''] = absolute.exec(target) ?? []
  if (authority === undefined || authority.toLowerCase() !== host?.toLowerCase()) return target
  return rest.charCodeAt(0) === SLASH ? rest : `/${rest}`
}

/**
 * Returns why a raw request target is rejected, or `undefined`. The path that is routed, the path that a signature
 * covers and the path that a URL parser returns must be the same text.
 */
export function targetProblem(target: string): string | undefined {
  if (target.charCodeAt(0) !== SLASH) return 'is not a path that begins with one slash, or a URL of the host in the Host header'
  if (target.charCodeAt(1) === SLASH) return 'begins with two slashes'
  if (forbidden.test(target)) return 'contains a fragment, a space, a control character or a non-ASCII byte'
  const path = pathOf(target)
  // Clients send it unchanged in a query, but in a path a URL parser converts it to a slash.
  if (path.includes('\\')) return 'has a backslash in its path'
  if (untouched.test(path)) return undefined
  return new URL(path, 'http://localhost').pathname === path ? undefined : 'has a path that a URL parser would rewrite'
}
