/** A request that is sent as is: nothing is checked, joined or corrected. */
export interface WireRequest {
  readonly method: string
  /** The target in the request line, as sent. */
  readonly target: string
  /** In order, with duplicates; values are sent as Latin-1. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: Buffer
  /**
   * How the body is framed. `length` (the default) adds `Content-Length` when there is a body; `chunked` sends it in two chunks;
   * `cut` announces 16 bytes more than it sends; `both` sends a `Content-Length` and a chunked encoding.
   */
  readonly framing?: 'length' | 'chunked' | 'cut' | 'both'
}

export interface WireResponse {
  /** 0 when the connection ended without a response. */
  readonly status: number
  /** In order, with names as received. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

/** Replaces the first header with the name, or adds it; `undefined` removes all headers with the name. */
export function withHeader(request: WireRequest, name: string, value: string | undefined): WireRequest {
  const others = request.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase())
  if (value === undefined) return { ...request, headers: others }
  const at = request.headers.findIndex(([other]) => other.toLowerCase() === name.toLowerCase())
  return { ...request, headers: at < 0 ? [...others, [name, value]] : others.toSpliced(at, 0, [name, value]) }
}

export function headerOf({ headers }: Pick<WireRequest, 'headers'>, name: string): string | undefined {
  return headers.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1]
}

/** The bytes of a request that asks for the connection to be closed. */
export function bytesOf({ method, target, headers, body = Buffer.alloc(0), framing = 'length' }: WireRequest): Buffer {
  const own = new Set(headers.map(([name]) => name.toLowerCase()))
  const length = framing === 'cut' ? body.length + 16 : body.length
  const framed: (readonly [string, string])[] = []
  if (framing !== 'chunked' && length > 0 && !own.has('content-length')) framed.push(['content-length', String(length)])
  if (framing === 'chunked' || framing === 'both') framed.push(['transfer-encoding', 'chunked'])
  const lines = [...headers, ...framed, ['connection', 'close'] as const].map(([name, value]) => `${name}: ${value}`)
  const head = Buffer.from([`${method} ${target} HTTP/1.1`, ...lines, '', ''].join('\r\n'), 'latin1')
  return Buffer.concat([head, framing === 'chunked' || framing === 'both' ? chunked(body) : body])
}

function chunked(body: Buffer): Buffer {
  const parts = [body.subarray(0, 1), body.subarray(1)].filter((part) => part.length > 0)
  const chunks = parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')])
}

/** Parses a response from all bytes of a connection; 1xx responses before it are skipped. */
export function parseResponse(bytes: Buffer): WireResponse {
  const end = bytes.indexOf('\r\n\r\n')
  const [line = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1] ?? 0)
  if (status >= 100 && status < 200 && status !== 101) return parseResponse(bytes.subarray(end + 4))
  const headers = lines.map((text): [string, string] => {
    const colon = text.indexOf(':')
    return [text.slice(0, colon), text.slice(colon + 1).trim()]
  })
  const raw = status === 0 ? Buffer.alloc(0) : bytes.subarray(end + 4)
  const isChunked = /chunked/i.test(headerOf({ headers }, 'transfer-encoding') ?? '')
  return { status, headers, body: isChunked ? dechunk(raw) : raw }
}

/** Decodes a chunked body. */
export function dechunk(raw: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = raw.indexOf('\r\n', at)
    const size = lineEnd < 0 ? 0 : Number.parseInt(raw.subarray(at, lineEnd).toString('latin1'), 16)
    if (!(size > 0)) return Buffer.concat(parts)
    parts.push(raw.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 4 + size
  }
}
