import type { ReadStream, Stats } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import type { RequestHandler } from 'sirv'

type SirvFactory = typeof import('sirv').default

/** The file that sirv would send, opened. */
export interface ChosenFile {
  readonly path: string
  readonly bytes: number
  readonly encoding: 'br' | 'gzip' | undefined
  readonly lastModified: string
  /** Strong: different for each form of a file. */
  readonly etag: string
  readonly stream: ReadStream
}

const notOrdinary = new Error('it is not an ordinary file')
const ignore = (): void => undefined

/** Chooses files with sirv: `(path, codings)` returns the file for a decoded path in the folder, or undefined. */
export type FileChooser = (path: string, codings: readonly string[]) => ChosenFile | undefined

/**
 * sirv looks for the file of a path, for pages without their extension and for compressed forms. It would also send it, but without handling
 * the errors of the file, which end the process, and with wrong ranges. So it gets a stand-in for the response, and the stream that
 * it pipes there is the result. It asks for all bytes that the file has now: a stream without an end would also send what is appended
 * meanwhile, beyond the declared length.
 */
export function fileChooser(sirv: SirvFactory, root: string): FileChooser {
  const serve: RequestHandler = sirv(root, {
    // Looks on the disk each time, instead of keeping a list from the start, which would go stale and contain what links lead to.
    dev: true,
    etag: true,
    brotli: true,
    gzip: true,
    extensions: ['html'],
    setHeaders: (res, _path, stats: Stats) => {
      // Opening a named pipe would occupy a thread until someone writes to it.
      if (!stats.isFile()) throw notOrdinary
      if (stats.size > 0) (res as unknown as StandIn).asked.range = 'bytes=0-'
    },
  })
  return (path, codings) => {
    const headers: AskedHeaders = { 'accept-encoding': codings.join(', ') }
    const target = new StandIn(headers)
    // As polka passes a URL that it has parsed: names may contain "?" and "#". sirv decodes it.
    const pathname = path.replaceAll('%', '%25')
    const request = { url: pathname, _parsedUrl: { pathname, raw: pathname }, headers }
    try {
      serve(request as unknown as IncomingMessage, target as unknown as ServerResponse, ignore)
    } catch (error) {
      if (error !== notOrdinary) throw error
    }
    return target.chosen()
  }
}

/** What sirv reads of a request. */
interface AskedHeaders {
  readonly 'accept-encoding': string
  range?: string
}

/** What sirv needs of a response. */
class StandIn extends Writable {
  readonly asked: AskedHeaders
  readonly #headers = new Map<string, unknown>()
  #stream: ReadStream | undefined

  constructor(asked: AskedHeaders) {
    super()
    this.asked = asked
    this.on('pipe', (stream: ReadStream) => {
      stream.unpipe(this)
      // It is reported when the file is sent.
      stream.on('error', ignore)
      this.#stream = stream
    })
  }

  getHeader(_name: string): undefined {
    return undefined
  }

  setHeader(name: string, value: unknown): void {
    this.#headers.set(name.toLowerCase(), value)
  }

  writeHead(_status: number, headers: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value)
  }

  chosen(): ChosenFile | undefined {
    if (this.#stream === undefined) return undefined
    // `pipe` lets it flow in any case: it would be read, and its data lost, before it is sent.
    this.#stream.pause()
    const encoding = this.#headers.get('content-encoding') as 'br' | 'gzip' | undefined
    const tag = String(this.#headers.get('etag')).replace(/^W\/"|"$/g, '')
    return {
      path: String(this.#stream.path),
      bytes: Number(this.#headers.get('content-length')),
      encoding,
      lastModified: String(this.#headers.get('last-modified')),
      etag: `"${tag}${encoding === undefined ? '' : `-${encoding}`}"`,
      stream: this.#stream,
    }
  }
}
