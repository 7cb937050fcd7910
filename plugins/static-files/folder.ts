import { createReadStream } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { extname, isAbsolute, relative, sep } from 'node:path'
import type { Context } from 'koa'
import type { ChosenFile, FileChooser } from './chosen-file.js'
import { staticFilesErrors } from './errors.js'
import type { FolderOptions } from './options.js'
import { parseRange } from './range.js'

const codings = ['br', 'gzip'] as const
const yearSeconds = 31_536_000

/** Serves the files of one folder. */
export class StaticFolder {
  /** Without a slash at the end: empty for the root. */
  readonly prefix: string
  readonly #options: FolderOptions
  readonly #choose: FileChooser
  readonly #pagePolicy: () => string | undefined

  /** @param options with an absolute `root`. */
  constructor(options: FolderOptions, choose: FileChooser, pagePolicy: () => string | undefined) {
    this.prefix = options.prefix.replace(/\/$/, '')
    this.#options = options
    this.#choose = choose
    this.#pagePolicy = pagePolicy
  }

  has(path: string): boolean {
    return path === this.prefix || path.startsWith(`${this.prefix}/`)
  }

  /** Whether it has answered. */
  async serve(ctx: Context): Promise<boolean> {
    const raw = ctx.path.slice(this.prefix.length)
    if (raw === '') return redirect(ctx)
    const path = decodedPath(raw)
    if (path === undefined) return false
    const wanted = codings.filter((coding) => ctx.acceptsEncodings(coding) === coding)
    return (await this.#serve(ctx, path, wanted)) || (this.#isPage(ctx, path) && (await this.#serve(ctx, '/', wanted)))
  }

  async #serve(ctx: Context, path: string, wanted: readonly string[]): Promise<boolean> {
    const file = this.#choose(path, wanted)
    if (file === undefined) return false
    try {
      const name = await this.#nameOf(file)
      if (name === undefined) return false
      const isIndex = `/${name}` === `${path.replace(/\/$/, '')}/index.html`
      if (isIndex !== path.endsWith('/')) return isIndex && redirect(ctx)
      this.#send(ctx, file, name, path)
      return true
    } finally {
      if (ctx.body !== file.stream) file.stream.destroy()
    }
  }

  /** A path of the page's own router. Browsers name HTML when they open a page; scripts accept anything, and must see that a route is missing. */
  #isPage(ctx: Context, path: string): boolean {
    return this.#options.spa && extname(path) === '' && /\b(text\/html|application\/xhtml\+xml)\b/i.test(ctx.get('Accept'))
  }

  /** The path of a file in the folder, without the extension of its coding; undefined if it is hidden or, through a link, elsewhere. */
  async #nameOf({ path, encoding }: ChosenFile): Promise<string | undefined> {
    const found = await Promise.all([realpath(this.#options.root), realpath(path)]).catch(() => undefined)
    if (found === undefined) return undefined
    const [root, real] = found
    for (const [from, to] of [
      [root, real],
      [this.#options.root, path],
    ] as const) {
      const below = relative(from, to)
      // Also what is outside: its path begins with two dots or, on another drive, is absolute.
      if (isAbsolute(below) || below.split(sep).some((segment) => segment.startsWith('.'))) return undefined
    }
    const name = relative(this.#options.root, path).split(sep).join('/')
    return encoding === undefined ? name : name.slice(0, name.lastIndexOf('.'))
  }

  #send(ctx: Context, file: ChosenFile, plainName: string, path: string): void {
    // A compressed file that was asked for by its own name is that file.
    const isOwnName = file.encoding !== undefined && /\.(br|gz)$/i.test(path)
    const name = isOwnName ? file.path : plainName
    ctx.status = 200
    ctx.type = extname(name)
    if (!ctx.type) ctx.type = 'application/octet-stream'
    const isHtml = ctx.response.is('html') !== false
    ctx.vary('Accept-Encoding')
    ctx.set('ETag', file.etag)
    ctx.set('Last-Modified', file.lastModified)
    ctx.set('Cache-Control', this.#cacheControl(plainName, isHtml))
    ctx.set('X-Content-Type-Options', 'nosniff')
    const policy = isHtml ? this.#pagePolicy() : undefined
    if (policy !== undefined) ctx.set('Content-Security-Policy', policy)
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    if (file.encoding !== undefined && !isOwnName) ctx.set('Content-Encoding', file.encoding)
    ctx.set('Accept-Ranges', 'bytes')
    const range = ctx.method === 'GET' && isCurrent(ctx, file) ? parseRange(ctx.get('Range'), file.bytes) : undefined
    if (range === 'unsatisfiable') throw staticFilesErrors.RANGE_NOT_SATISFIABLE(file.bytes)
    if (range === undefined) {
      ctx.body = file.bytes === 0 ? Buffer.alloc(0) : file.stream
      ctx.length = file.bytes
      return
    }
    ctx.status = 206
    ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${file.bytes}`)
    ctx.body = createReadStream(file.path, { start: range.start, end: range.end })
    ctx.length = range.end - range.start + 1
  }

  #cacheControl(name: string, isHtml: boolean): string {
    const { immutable, maxAgeSeconds } = this.#options
    if (immutable.some((beginning) => name.startsWith(beginning.replace(/^\//, '')))) return `public, max-age=${yearSeconds}, immutable`
    return maxAgeSeconds > 0 && !isHtml ? `public, max-age=${maxAgeSeconds}` : 'no-cache'
  }
}

/** Decodes a path; undefined if one of its segments is hidden, or several in disguise. */
function decodedPath(path: string): string | undefined {
  const segments = path.split('/').slice(1)
  const decoded = segments.map((segment) => {
    try {
      return decodeURIComponent(segment)
    } catch {
      return '..'
    }
  })
  const isPlain = decoded.every((name, i) => (name === '' ? i === decoded.length - 1 : /^(?!\.)[^/\\\0]+$/.test(name)))
  return isPlain ? `/${decoded.join('/')}` : undefined
}

/** `If-Range`: a part is sent only of the form of the file that the client has. */
function isCurrent(ctx: Context, { etag, lastModified }: ChosenFile): boolean {
  const known = ctx.get('If-Range')
  return known === '' || known === etag || known === lastModified
}

/** To the same path with a slash, so that relative links of the page work. */
function redirect(ctx: Context): true {
  ctx.redirect(`${ctx.path}/${ctx.search}`)
  ctx.status = 301
  return true
}
