import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Context } from 'koa'

/** A response body shared by many requests. Each compressed form is created once, on first use. */
export class PreparedText {
  readonly #type: string
  readonly #etag: string
  readonly #forms: Map<string, Buffer>

  constructor(type: string, text: string) {
    const bytes = Buffer.from(text)
    this.#type = type
    this.#etag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    this.#forms = new Map([['identity', bytes]])
  }

  /** Sends the encoding that the client prefers, or 304 if the client already has this text. */
  send(ctx: Context): void {
    ctx.vary('Accept-Encoding')
    ctx.set('Cache-Control', 'no-cache')
    ctx.set('ETag', this.#etag)
    ctx.status = 200
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity') || 'identity'
    if (encoding !== 'identity') ctx.set('Content-Encoding', encoding)
    ctx.type = this.#type
    ctx.body = this.#form(encoding)
  }

  #form(encoding: string): Buffer {
    const known = this.#forms.get(encoding)
    if (known) return known
    const bytes = this.#forms.get('identity') as Buffer
    const form = encoding === 'br' ? brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }) : gzipSync(bytes)
    this.#forms.set(encoding, form)
    return form
  }
}
