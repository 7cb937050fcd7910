/** A request, independent of the server. */
export interface EdgeRequest {
  readonly method: string
  readonly pathname: string
  /** Including its `?`, or empty. */
  readonly search: string
  /** Names and values alternating, including repeated headers. */
  readonly headers: readonly string[]
  /** Reads the body; resolves to undefined if it exceeds the limit. */
  body(limit: number): Promise<Uint8Array | undefined>
}

export interface EdgeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Converts a request of the Fetch API. */
export function fromFetch(request: Request): EdgeRequest {
  const { pathname, search } = new URL(request.url)
  return { method: request.method, pathname, search, headers: [...request.headers].flat(), body: (limit) => readStream(request, limit) }
}

async function readStream(request: Request, limit: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) return undefined
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body?.getReader()
  for (;;) {
    const next = await reader?.read()
    if (next === undefined || next.done) return joined(chunks, length)
    length += next.value.length
    if (length > limit) {
      await reader?.cancel()
      return undefined
    }
    chunks.push(next.value)
  }
}

/** Joins chunks into one array. */
export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Returns the value of a header. @param name in lower case. */
export function headerOf({ headers }: EdgeRequest, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === name) return headers[at + 1]
  return undefined
}
