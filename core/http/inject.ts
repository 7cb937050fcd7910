import { request } from 'node:http'
import { Duplex } from 'node:stream'

/** A request sent within the process. */
export interface InjectRequest {
  /** Default GET. */
  readonly method?: string
  /** Path with query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Text and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown
  /** Default 127.0.0.1. */
  readonly remoteAddress?: string
}

export interface InjectResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed if the response is uncompressed JSON, otherwise its text; `undefined` if it is empty. */
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
  readonly body: any
  readonly text: string
  readonly bytes: Buffer
}

/** One end of an in-memory connection; data written to it is read at the other end. */
class End extends Duplex {
  other: End | undefined
  /** Read by HTTP as the address of the client. */
  readonly remoteAddress: string
  #resume: (() => void) | undefined

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

  override _read(): void {
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const { other } = this
    if (!other || other.destroyed) done()
    else if (other.push(chunk)) done()
    else other.#resume = done
  }

  override _final(done: () => void): void {
    this.other?.push(null)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // A cut connection ends both sides.
    const { other } = this
    this.other = undefined
    if (other && !other.destroyed) setImmediate(() => other.destroy())
    done(error)
  }
}

/**
 * Sends a request through the whole HTTP stack of a server over an in-memory connection: the same parser, limits and
 * connection handling as on a socket, without one.
 */
export function inject(connect: (connection: Duplex) => void, host: string, spec: InjectRequest): Promise<InjectResponse> {
  const near = new End('127.0.0.1')
  const far = new End(spec.remoteAddress ?? '127.0.0.1')
  near.other = far
  far.other = near
  connect(far)
  const { headers, payload } = encode(spec, host)
  return new Promise<InjectResponse>((resolve, reject) => {
    const req = request({ method: spec.method ?? 'GET', path: spec.path, headers, createConnection: () => near, setHost: false })
    req.on('error', reject)
    req.on('response', (res) => {
      const chunks: Buffer[] = []
      res.on('error', reject)
      res.on('data', (chunk: Buffer) => void chunks.push(chunk))
      res.on('end', () => {
        try {
          resolve(decode(res.statusCode ?? 0, res.headers, Buffer.concat(chunks)))
        } catch (error) {
          // Thrown here, it would be an uncaught exception.
          reject(error)
        }
      })
    })
    req.end(payload)
  }).finally(() => near.destroy())
}

function encode(
  { headers = {}, body }: InjectRequest,
  host: string,
): { headers: Record<string, string | string[]>; payload: Uint8Array | string | undefined } {
  const sent: Record<string, string | string[]> = { host }
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) sent[name.toLowerCase()] = typeof value === 'string' ? value : [...value]
  }
  if (body === undefined) return { headers: sent, payload: undefined }
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  if (!isRaw) sent['content-type'] ??= 'application/json'
  const payload = isRaw ? body : JSON.stringify(body)
  if (sent['transfer-encoding'] === undefined) sent['content-length'] ??= String(Buffer.byteLength(payload))
  return { headers: sent, payload }
}

function decode(status: number, headers: InjectResponse['headers'], bytes: Buffer): InjectResponse {
  const text = bytes.toString('utf8')
  const isJson = headers['content-encoding'] === undefined && /\bjson\b/.test(String(headers['content-type'] ?? ''))
  return { status, headers, bytes, text, body: text === '' ? undefined : isJson ? JSON.parse(text) : text }
}
