import { readFile } from 'node:fs/promises'
import { messageOf } from 'zin'
import { dechunk } from '../attack/wire.js'
import { bulletproofErrors } from '../errors.js'

/** A request as captured on the wire. */
export interface CapturedRequest {
  readonly method: string
  readonly target: string
  /** Alternating names and values, with duplicates. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** How the file was interpreted, where that is ambiguous. */
  readonly notes: readonly string[]
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Reads the file with a captured request. Throws a ZinError that names the file when it cannot be read. */
export async function readCapture(file: string): Promise<CapturedRequest> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'there is no such file' : messageOf(error)
    throw bulletproofErrors.AUTH_EXPLAIN_FILE(`${file}: ${why}; pass a file that holds the request as HTTP text or as JSON`)
  })
  return parseCapture(bytes)
}

/**
 * Parses a captured request: the text on the wire (request line, headers, blank line, body; line ends CRLF or LF), or JSON
 * `{ method, url, headers, body }` with the body as text, or as `bodyBase64`. Throws a ZinError that describes the problem.
 */
export function parseCapture(bytes: Buffer): CapturedRequest {
  const start = bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 3 : 0
  const rest = bytes.subarray(start + (/^\s*/.exec(bytes.subarray(start, start + 1000).toString('latin1'))?.[0].length ?? 0))
  return rest[0] === 0x7b ? parseJson(rest.toString('utf8')) : parseText(rest)
}

function parseText(bytes: Buffer): CapturedRequest {
  const text = bytes.toString('latin1')
  const end = /\r?\n\r?\n/.exec(text)
  const [requestLine = '', ...lines] = (end === null ? text.trimEnd() : text.slice(0, end.index)).split(/\r?\n/)
  const [, method = '', target = ''] = /^(\S+) (.+?)(?: HTTP\/[\d.]+)?$/.exec(requestLine) ?? []
  if (!token.test(method) || target === '')
    throw bulletproofErrors.AUTH_EXPLAIN_FILE('it does not start with a request line such as GET /api/me HTTP/1.1')
  const rawHeaders = lines.flatMap((line, index) => {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0))
    if (!token.test(name))
      throw bulletproofErrors.AUTH_EXPLAIN_FILE(`line ${index + 2} is not a header; separate the body with a blank line`)
    return [name, line.slice(colon + 1).trim()]
  })
  const sent = end === null ? Buffer.alloc(0) : bytes.subarray(end.index + end[0].length)
  return { method, target, rawHeaders, ...bodyOf(sent, rawHeaders) }
}

/** The body without its framing, and without the line end that an editor adds at the end of a file. */
function bodyOf(sent: Buffer, rawHeaders: readonly string[]): { readonly body: Buffer; readonly notes: readonly string[] } {
  const value = (name: string): string | undefined =>
    rawHeaders.find((_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1)
  if (/chunked/i.test(value('transfer-encoding') ?? '') && /^[0-9a-f]+\r\n/i.test(sent.subarray(0, 20).toString('latin1')))
    return { body: dechunk(sent), notes: ['the body was decoded from chunks'] }
  const length = Number(value('content-length') ?? Number.NaN)
  if (!Number.isSafeInteger(length) || length === sent.length) return { body: sent, notes: [] }
  if (length > sent.length) return { body: sent, notes: [`the file holds ${sent.length} of the ${length} bytes of the body`] }
  return { body: sent.subarray(0, length), notes: [`bytes after the ${length} bytes of Content-Length were ignored`] }
}

function parseJson(text: string): CapturedRequest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw bulletproofErrors.AUTH_EXPLAIN_FILE('it starts with "{" and is not valid JSON')
  }
  const { method = 'GET', url, headers = {}, body = '', bodyBase64 } = value as Readonly<Record<string, unknown>>
  if (typeof method !== 'string' || !token.test(method)) throw bulletproofErrors.AUTH_EXPLAIN_FILE('"method" is not an HTTP method')
  if (typeof url !== 'string' || url === '') throw bulletproofErrors.AUTH_EXPLAIN_FILE('"url" is missing: a URL, or a path with its query')
  if (typeof body !== 'string' || (bodyBase64 !== undefined && typeof bodyBase64 !== 'string'))
    throw bulletproofErrors.AUTH_EXPLAIN_FILE(
      '"body" must be the text that was sent, since its bytes are signed; put binary bodies into "bodyBase64"',
    )
  const [, host, path] = /^https?:\/\/([^/?#]+)([^#]*)/i.exec(url) ?? [undefined, undefined, url.split('#')[0]]
  const pairs = headerPairs(headers)
  const hasHost = pairs.some(([name]) => name.toLowerCase() === 'host')
  const all = hasHost || host === undefined ? pairs : [['host', host.toLowerCase()] as const, ...pairs]
  return {
    method: method.toUpperCase(),
    target: path?.startsWith('/') ? path : `/${path ?? ''}`,
    rawHeaders: all.flat(),
    body: bodyBase64 === undefined ? Buffer.from(body) : Buffer.from(bodyBase64, 'base64'),
    notes: [],
  }
}

function headerPairs(headers: unknown): readonly (readonly [string, string])[] {
  const entries: readonly unknown[] = Array.isArray(headers) ? headers : Object.entries(Object(headers))
  return entries.flatMap((entry) => {
    const [name, value] = Array.isArray(entry) ? (entry as unknown[]) : []
    const values = Array.isArray(value) ? value : [value]
    if (typeof name !== 'string' || !token.test(name) || values.some((one) => typeof one !== 'string' && typeof one !== 'number'))
      throw bulletproofErrors.AUTH_EXPLAIN_FILE('"headers" must be an object of strings or arrays of strings, or an array of [name, value]')
    return values.map((one): [string, string] => [name, String(one).trim()])
  })
}
