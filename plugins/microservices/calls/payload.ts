/** Encodes the body of a call, and returns its headers with lower-case names. */
export function encodeBody(
  body: unknown,
  given: Readonly<Record<string, string>>,
): { readonly body: string | Uint8Array | undefined; readonly headers: Readonly<Record<string, string>> } {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
  if (body === undefined) return { body: undefined, headers }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/octet-stream'
    return { body, headers: { 'content-type': type, ...headers, 'content-length': String(Buffer.byteLength(body)) } }
  }
  const text = JSON.stringify(body)
  return { body: text, headers: { 'content-type': 'application/json', ...headers, 'content-length': String(Buffer.byteLength(text)) } }
}

/** Decodes the body of a response by its content type. Invalid JSON is returned as text. */
export function readData(contentType: string | undefined, body: Buffer): unknown {
  if (body.length === 0) return undefined
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type === 'application/json' || type.endsWith('+json')) {
    const text = body.toString('utf8')
    try {
      return JSON.parse(text) as unknown
    } catch {
      return text
    }
  }
  return type.startsWith('text/') ? body.toString('utf8') : body
}
