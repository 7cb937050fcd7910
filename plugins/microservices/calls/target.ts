const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Headers that belong to the connection or are set by the plugin. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'content-length', 'upgrade', 'te', 'trailer', 'expect'],
  ...['x-timeout-ms', 'x-retry-attempt'],
])
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/
const maxLength = 8000

/**
 * Returns what is wrong with the path of a call, or undefined. The path must stay on the host of the service, and every server and proxy
 * must interpret it as the same path.
 */
export function targetProblem(path: unknown): string | undefined {
  if (typeof path !== 'string' || !path.startsWith('/')) return 'its path must begin with /'
  if (path.length > maxLength) return `its path is longer than ${maxLength} characters`
  if (path.startsWith('//')) return 'its path must not begin with //, which names a host'
  if (/[^\u0021-\u007e]/.test(path)) return 'its path must contain printable ASCII characters only; percent-encode all others'
  if (/[\\#]/.test(path)) return 'its path must not contain \\ or #'
  const [pathname = ''] = path.split('?', 1)
  const plain = decoded(pathname)
  if (plain === undefined) return 'its path has malformed or nested percent-encoding'
  if (plain.startsWith('//') || /[\\\u0000-\u001f\u007f]/.test(plain))
    return 'its path has an encoded \\ or control character, or an encoded // at its start'
  if (plain.split('/').some((part) => part === '..' || part === '.'))
    return 'its path must not contain the segments . or .., encoded or not'
  return undefined
}

/** Decodes once. Some servers decode twice, so separators, dots and control characters that are still encoded are refused (undefined). */
function decoded(pathname: string): string | undefined {
  try {
    const once = decodeURIComponent(pathname)
    return /%(2e|2f|5c|25|0[0-9a-f]|1[0-9a-f]|7f)/i.test(once) ? undefined : once
  } catch {
    return undefined
  }
}

export function methodProblem(method: unknown): string | undefined {
  return typeof method === 'string' && methods.has(method) ? undefined : `its method must be one of ${[...methods].join(', ')}`
}

/** Returns what is wrong with the headers of a call, or undefined. Never includes values, which may be secrets. */
export function headersProblem(headers: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) return 'a header has a malformed name'
    if (ownHeaders.has(name.toLowerCase())) return `the header ${name.toLowerCase()} is set by the plugin`
    if (typeof value !== 'string' || /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      return `the header ${name} has a malformed value`
  }
  return undefined
}
