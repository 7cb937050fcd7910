import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'

/** Longest line in bytes: of a job, whose data and result may have 100 MiB each. */
export const maxLineBytes = 256 * 2 ** 20
/** How much is written at a time, in bytes. */
const chunkBytes = 2 ** 18

export interface Line {
  /** From 1. */
  readonly number: number
  readonly text: string
  /** Of the file up to the end of this line. */
  readonly bytes: number
  /** SHA-256 of everything before this line, in hex. */
  readonly before: () => string
}

/** A line that is too long, not UTF-8, or without an end. */
export class LineError extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** Reads a file line by line. Holds one line at a time. Throws a LineError. */
export async function* readLines(file: string): AsyncGenerator<Line, void, undefined> {
  const hash = createHash('sha256')
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let parts: Buffer[] = []
  let [number, length, bytes] = [1, 0, 0]
  const tooLong = () => new LineError(number, `the line has more than ${maxLineBytes} bytes`)
  for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const whole = Buffer.concat([...parts, chunk.subarray(from, end)])
      if (whole.length > maxLineBytes) throw tooLong()
      parts = []
      length = 0
      from = end + 1
      bytes += whole.length + 1
      let text: string
      try {
        text = decoder.decode(whole)
      } catch {
        throw new LineError(number, 'the line is not UTF-8')
      }
      yield { number, text, bytes, before: () => hash.copy().digest('hex') }
      hash.update(whole).update('\n')
      number++
    }
    parts.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > maxLineBytes) throw tooLong()
  }
  if (length > 0) throw new LineError(number, 'the line has no end: the file was cut off')
}

interface Sink {
  write(bytes: Buffer): Promise<unknown>
  close(done: boolean): Promise<void>
}

/** Writes lines with backpressure, to a file that gets its name when it is complete, or to a stream. */
export class LineWriter {
  readonly #hash = createHash('sha256')
  readonly #sink: Sink
  #held: string[] = []
  #heldLength = 0

  private constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Only its owner can read the file. Throws EEXIST. */
  static async toFile(file: string): Promise<LineWriter> {
    const partial = `${file}.partial`
    const handle: FileHandle = await open(partial, 'wx', 0o600)
    return new LineWriter({
      write: (bytes) => handle.appendFile(bytes),
      async close(done) {
        if (done) await handle.sync()
        await handle.close()
        await (done ? rename(partial, file) : rm(partial, { force: true }))
      },
    })
  }

  static toStream(stream: Writable): LineWriter {
    return new LineWriter({
      write: (bytes) => new Promise<void>((resolve, reject) => stream.write(bytes, (error) => (error ? reject(error) : resolve()))),
      close: () => Promise.resolve(),
    })
  }

  async write(text: string): Promise<void> {
    this.#held.push(text, '\n')
    this.#heldLength += text.length
    if (this.#heldLength >= chunkBytes) await this.flush()
  }

  /** SHA-256 of everything written, in hex. */
  async digest(): Promise<string> {
    await this.flush()
    return this.#hash.copy().digest('hex')
  }

  async flush(): Promise<void> {
    const bytes = Buffer.from(this.#held.join(''))
    this.#held = []
    this.#heldLength = 0
    this.#hash.update(bytes)
    if (bytes.length > 0) await this.#sink.write(bytes)
  }

  /** Gives the file its name, or removes it. */
  async close(done: boolean): Promise<void> {
    if (done) await this.flush()
    await this.#sink.close(done)
  }
}
