import { writeSync } from 'node:fs'
import type { Socket } from 'node:net'

export interface PipeSinkOptions {
  /** `process.stdout` or `process.stderr`, which is a pipe or a socket. */
  readonly stream: Socket
  /** Its file descriptor. */
  readonly fd: number
  /** How long closing may take, and flushing at the exit of the process, in ms. */
  readonly closeMs: number
  /** Returns the line that tells how many lines were dropped, and since when; empty if the level excludes it. */
  readonly notice: (lines: number, ms: number) => string
  readonly colors: boolean
}

interface WaitingLine {
  readonly text: string
  readonly bytes: number
  readonly fatal: boolean
}

/** What Node's pipes have, but not its types. */
interface Handle {
  /** Bytes that the system has not taken yet. */
  readonly writeQueueSize: number
  setBlocking(blocking: boolean): void
}

/** Limit of the lines that wait for the reader, in bytes. */
const mostWaiting = 2 ** 20

/**
 * Writes lines to a pipe without waiting for its reader. Lines that the pipe does not take wait here. Beyond 1 MiB the oldest are dropped, but
 * fatal ones last, so that the end of the log is kept. The stream never holds more than one line of the log, and other writers, such as
 * `console.log`, cannot cut into it.
 */
export class PipeSink {
  readonly colors: boolean
  readonly #options: PipeSinkOptions
  readonly #waiting: WaitingLine[] = []
  #waitingBytes = 0
  /** Lines whose callback the stream has not called yet. */
  #pending = 0
  /** The line that the stream has not written in full. */
  #current = ''
  #dropped = 0
  #droppedSince = 0
  #flushesAtExit = false
  #onFlushed = (): void => undefined

  constructor(options: PipeSinkOptions) {
    this.#options = options
    this.colors = options.colors
  }

  write(text: string, fatal: boolean): void {
    const bytes = Buffer.byteLength(text)
    this.#waiting.push({ text, bytes, fatal })
    this.#waitingBytes += bytes
    this.#flush()
    while (this.#waitingBytes > mostWaiting) this.#drop()
    if (!this.#flushesAtExit && this.#isBehind()) {
      this.#flushesAtExit = true
      process.on('exit', this.#flushAtExit)
    }
  }

  async close(): Promise<void> {
    if (this.#pending > 0 || this.#waiting.length > 0) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#onFlushed = resolve
        timer = setTimeout(resolve, this.#options.closeMs)
      })
      clearTimeout(timer)
    }
    this.#waiting.splice(0)
    this.#forgetExit()
  }

  /** Writes while the stream has nothing to wait for. Then its callback continues, which may come after what others have written. */
  #flush(): void {
    const { stream } = this.#options
    while (this.#waiting.length > 0 && (stream.writableLength === 0 || this.#pending === 0)) {
      const text = this.#takeNotice() || this.#take(0).text
      // Another process with the same pipe may have made it blocking; Node itself does when it exits.
      handleOf(stream)?.setBlocking(false)
      this.#pending++
      stream.write(text, this.#onWritten)
      this.#current = stream.writableLength > 0 ? text : ''
    }
  }

  readonly #onWritten = (error?: Error | null): void => {
    const { stream } = this.#options
    // A closed pipe does not end the app. The stream emits the error after this call.
    if (error && stream.listenerCount('error') === 0) stream.once('error', () => undefined)
    this.#pending--
    if (this.#pending === 0) this.#current = ''
    this.#flush()
    if (!this.#isBehind()) this.#forgetExit()
    if (this.#pending === 0 && this.#waiting.length === 0) this.#onFlushed()
  }

  #isBehind(): boolean {
    return this.#current !== '' || this.#waiting.length > 0
  }

  #take(index: number): WaitingLine {
    const [line] = this.#waiting.splice(index, 1) as [WaitingLine]
    this.#waitingBytes -= line.bytes
    return line
  }

  #drop(): void {
    const ordinary = this.#waiting.findIndex((line) => !line.fatal)
    this.#take(Math.max(0, ordinary))
    if (this.#dropped === 0) this.#droppedSince = performance.now()
    this.#dropped++
  }

  #takeNotice(): string {
    if (this.#dropped === 0) return ''
    const lines = this.#dropped
    this.#dropped = 0
    return this.#options.notice(lines, Math.round(performance.now() - this.#droppedSince))
  }

  /** Nothing asynchronous happens after `process.exit` and after an error that nothing caught. */
  readonly #flushAtExit = (): void => {
    const rest = [this.#restOfCurrent(), Buffer.from(this.#takeNotice()), ...this.#waiting.map(({ text }) => Buffer.from(text))]
    writeAll(this.#options.fd, Buffer.concat(rest), this.#options.closeMs)
  }

  #restOfCurrent(): Buffer {
    const { stream } = this.#options
    const current = Buffer.from(this.#current)
    const handle = handleOf(stream)
    if (current.length === 0 || (handle !== undefined && stream.writableLength === current.length))
      return current.subarray(current.length - (handle?.writeQueueSize ?? 0))
    // Others have written too, so nobody knows what is missing of whose line.
    return Buffer.from(`\n${this.#current}`)
  }

  #forgetExit(): void {
    this.#flushesAtExit = false
    process.off('exit', this.#flushAtExit)
  }
}

function handleOf(stream: Socket): Handle | undefined {
  return (stream as { readonly _handle?: Handle | null })._handle ?? undefined
}

/** Waits for the reader, but not longer than `ms`. */
function writeAll(fd: number, bytes: Buffer, ms: number): void {
  const endsAt = performance.now() + ms
  let written = 0
  while (written < bytes.length && performance.now() < endsAt) {
    try {
      written += writeSync(fd, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}
