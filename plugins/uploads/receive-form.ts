import { once, setMaxListeners } from 'node:events'
import type { Readable } from 'node:stream'
import type { BusboyConfig, BusboyConstructor } from '@fastify/busboy'
import type { Context } from 'koa'
import { type FileField, type FileFields, type IncomingForm, messageOf, type ReadForm } from 'zin'
import { uploadsErrors } from './errors.js'
import type { Detect } from './media-type.js'
import type { UploadsOptions } from './options.js'
import { type ReceivedFile, receiveFile } from './receive-file.js'
import type { TemporaryFolder } from './temporary-folder.js'

/** The parser of a form. */
export type Busboy = InstanceType<BusboyConstructor>

/** Fields of a form that are not files, and the bytes of the name of one. */
const maxFields = 1000
const maxNameBytes = 1000
/** Inputs for files in which none was selected. */
const spareParts = 100

export interface FormParts {
  readonly options: UploadsOptions
  readonly folder: TemporaryFolder
  readonly rootDir: string
  readonly detect: Detect
  readonly open: (config: BusboyConfig) => Busboy
}

/** Receives a multipart form as it arrives. If it rejects, nothing of it is left. */
export async function receiveForm({ req }: Context, form: IncomingForm, parts: FormParts): Promise<ReadForm> {
  const { options, open } = parts
  const receiving = new Receiving(form, parts)
  let parser: Busboy
  try {
    parser = open({
      headers: req.headers as BusboyConfig['headers'],
      limits: {
        fieldSize: options.maxFieldBytes,
        fields: maxFields,
        parts: maxFields + options.maxFiles + spareParts,
        headerPairs: 100,
        headerSize: 16 * 1024,
      },
      preservePath: true,
      isPartAFile: (_field: string | undefined, _type: string | undefined, filename: string | undefined) => filename !== undefined,
    })
  } catch (error) {
    throw uploadsErrors.INVALID_FORM(messageOf(error))
  }
  return receiving.run(parser)
}

/** One form that is being received. */
class Receiving {
  readonly #form: IncomingForm
  readonly #parts: FormParts
  readonly #abort = new AbortController()
  readonly #fields = new Map<string, string[]>()
  readonly #files = new Map<string, (ReceivedFile | undefined)[]>()
  readonly #counts = new Map<string, number>()
  readonly #pending: Promise<void>[] = []
  /** Parts that were fields or files. */
  #seen = 0
  #fieldBytes = 0
  #fileCount = 0
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(form: IncomingForm, parts: FormParts) {
    this.#form = form
    // Each file listens to it.
    setMaxListeners(0, this.#abort.signal)
    this.#parts = parts
  }

  async run(parser: Busboy): Promise<ReadForm> {
    const deadline = setTimeout(() => this.#fail(uploadsErrors.UPLOAD_TOO_SLOW()), this.#parts.options.deadlineMs)
    try {
      parser.on('error', (error: unknown) => this.#fail(uploadsErrors.INVALID_FORM(messageOf(error))))
      parser.on('field', (name, value, _nameCut, valueCut, encoding) =>
        this.#attempt(() => this.#addField(name, decoded(value, encoding), valueCut)),
      )
      parser.on('file', (name, content, filename, encoding, type) =>
        this.#attempt(
          () => {
            checkEncoding(encoding, plainEncodings)
            this.#addFile(name, content, filename ?? '', type)
          },
          () => content.on('error', () => undefined).resume(),
        ),
      )
      parser.on('fieldsLimit', () => this.#fail(uploadsErrors.UPLOAD_FIELDS_TOO_LARGE(this.#parts.options.maxFieldBytes)))
      parser.on('partsLimit', () => this.#fail(uploadsErrors.INVALID_FORM('it has too many parts')))
      const finished = once(parser, 'finish').catch(() => undefined)
      await this.#feed(parser)
      if (this.#failure === undefined) {
        parser.end()
        await Promise.race([finished, this.#failed()])
      }
      await Promise.all(this.#pending)
      if (this.#failure !== undefined) throw this.#failure as Error
      if (partsOf(parser) > this.#seen) throw uploadsErrors.INVALID_FORM('a part has no usable headers')
      requireFiles(this.#form.files, (field) => this.#counts.has(field))
      return this.#read()
    } catch (error) {
      this.#fail(error)
      await Promise.all(this.#pending)
      await this.#removeAll()
      throw this.#failure
    } finally {
      clearTimeout(deadline)
      parser.on('error', () => undefined)
      // Frees what it holds; it must not wait for files whose readers have stopped.
      parser.destroy()
    }
  }

  /** Passes the body on, no faster than files are written. */
  async #feed(parser: Busboy): Promise<void> {
    const { pieces } = this.#form
    for (;;) {
      const idle = setTimeout(() => this.#fail(uploadsErrors.UPLOAD_TOO_SLOW()), this.#parts.options.idleMs)
      const piece = await pieces.next().finally(() => clearTimeout(idle))
      if (piece === undefined || this.#failure !== undefined) return
      if (parser.write(piece)) continue
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        parser.once('drain', resolve)
      })
      if (this.#failure !== undefined) return
    }
  }

  #failed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#failure !== undefined) resolve()
      else this.#wake = resolve
    })
  }

  /** Ends the form with the first error. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#form.pieces.stop()
    this.#abort.abort(error)
    this.#wake?.()
  }

  #attempt(run: () => void, otherwise?: () => void): void {
    this.#seen++
    try {
      if (this.#failure === undefined) {
        run()
        return
      }
    } catch (error) {
      this.#fail(error)
    }
    otherwise?.()
  }

  #nameOf(name: string | undefined): string {
    if (name === undefined) throw uploadsErrors.INVALID_FORM('a part has no name')
    if (name === '__proto__') throw uploadsErrors.INVALID_FORM('a part is named "__proto__"')
    if (Buffer.byteLength(name) > maxNameBytes) throw uploadsErrors.INVALID_FORM(`the name of a part is longer than ${maxNameBytes} bytes`)
    return unescaped(name)
  }

  #addField(given: string | undefined, value: string, isCut: boolean): void {
    const name = this.#nameOf(given)
    const { maxFieldBytes } = this.#parts.options
    this.#fieldBytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    if (isCut || this.#fieldBytes > maxFieldBytes) throw uploadsErrors.UPLOAD_FIELDS_TOO_LARGE(maxFieldBytes)
    this.#fields.set(name, [...(this.#fields.get(name) ?? []), value])
  }

  #addFile(given: string | undefined, content: Readable, filename: string, declared: string): void {
    const field = this.#nameOf(given)
    const { options, detect, folder, rootDir } = this.#parts
    const rule = this.#ruleOf(field)
    const { maxSize = options.maxFileSize, types = options.types, maxCount = Number.POSITIVE_INFINITY } = rule
    const list = this.#files.get(field) ?? []
    this.#files.set(field, list)
    const admit = (): void => {
      this.#counts.set(field, (this.#counts.get(field) ?? 0) + 1)
      if ((this.#counts.get(field) ?? 0) > maxCount) throw uploadsErrors.UPLOAD_TOO_MANY_FILES(field, maxCount)
      if (++this.#fileCount > options.maxFiles) throw uploadsErrors.UPLOAD_TOO_MANY_FILES('', options.maxFiles)
    }
    const rules = { maxSize, types, admit, streamFile: this.#form.streamFile }
    // Small files may end in another order.
    const at = list.push(undefined) - 1
    const receive = async (): Promise<void> => {
      const received = await receiveFile({ field, filename: unescaped(filename), declared, content }, rules, {
        detect,
        folder,
        rootDir,
        signal: this.#abort.signal,
      })
      if (received !== undefined) list[at] = received
    }
    // A file that is no longer read must not fail on its own.
    content.on('error', () => undefined)
    this.#abort.signal.addEventListener('abort', () => content.destroy(), { once: true })
    this.#pending.push(receive().catch((error: unknown) => this.#fail(error)))
  }

  #ruleOf(field: string): FileField {
    const { files } = this.#form
    if (files === undefined) return {}
    const rule = Object.hasOwn(files, field) ? files[field] : undefined
    if (rule === undefined) throw uploadsErrors.UPLOAD_UNEXPECTED(field)
    return { maxCount: 1, ...rule }
  }

  #all(): readonly ReceivedFile[] {
    return [...this.#files.values()].flatMap(receivedOf)
  }

  async #removeAll(): Promise<void> {
    await Promise.allSettled(this.#all().map((file) => file.remove()))
  }

  #read(): ReadForm {
    const { files } = this.#form
    const found = [...this.#files].filter(([, list]) => receivedOf(list).length > 0)
    const shown = found.map(([field, list]) => {
      const uploads = receivedOf(list).map(({ upload }) => upload)
      const isList = files === undefined ? uploads.length > 1 : (files[field]?.maxCount ?? 1) !== 1
      return [field, isList ? uploads : uploads[0]] as const
    })
    const fields = [...this.#fields].map(([name, list]) => [name, list.length === 1 ? (list[0] as string) : list] as const)
    return {
      fields: Object.fromEntries(fields),
      files: Object.fromEntries(shown) as ReadForm['files'],
      remove: () => this.#removeAll(),
    }
  }
}

/** Number of parts, with those that the parser skips without a word because it cannot use their headers; 0 if it does not tell. */
function partsOf(parser: Busboy): number {
  const { _parser: inner } = parser as unknown as { readonly _parser?: { readonly _nparts?: number } }
  return inner?._nparts ?? 0
}

const plainEncodings: readonly string[] = ['binary', '7bit', '8bit']

/** RFC 7578 4.7 deprecates the header: no browser sends it. */
function checkEncoding(encoding: string, known: readonly string[]): void {
  if (!known.includes(encoding)) throw uploadsErrors.INVALID_FORM('a part has an unknown Content-Transfer-Encoding')
}

function decoded(value: string, encoding: string): string {
  checkEncoding(encoding, [...plainEncodings, 'base64'])
  return encoding === 'base64' ? Buffer.from(value, 'base64').toString('utf8') : value
}

/** Undoes what browsers do to quotes and line breaks in names. */
function unescaped(text: string): string {
  return text.replace(/%(22|0d|0a)/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Throws UPLOAD_MISSING for a required field without a file. */
export function requireFiles(files: FileFields | undefined, has: (field: string) => boolean): void {
  for (const [field, { optional }] of Object.entries(files ?? {}))
    if (optional !== true && !has(field)) throw uploadsErrors.UPLOAD_MISSING(field)
}

const receivedOf = (list: readonly (ReceivedFile | undefined)[]): readonly ReceivedFile[] => list.filter((file) => file !== undefined)
