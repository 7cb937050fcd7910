import type { Readable } from 'node:stream'
import type { Logger } from 'zin'

export interface OutputLimits {
  readonly windowMs: number
  /** Maximum output to read per window; more waits in the thread or process. */
  readonly bytes: number
  /** Maximum lines to log per window; further ones are only counted. */
  readonly lines: number
}

const defaults: OutputLimits = { windowMs: 1_000, bytes: 1_048_576, lines: 100 }
const maxLine = 2_000

type Level = 'debug' | 'info'

/** Logs the output of processors within limits, so that excessive output slows down the processor and not the app. */
export class OutputLog {
  readonly #log: Logger
  readonly #limits: OutputLimits
  #bytes = 0
  #lines = 0
  #left = 0
  #timer: NodeJS.Timeout | undefined
  #closed = false
  readonly #open = new Set<Readable>()
  readonly #paused = new Set<Readable>()

  constructor(log: Logger, limits: OutputLimits = defaults) {
    this.#log = log
    this.#limits = limits
  }

  follow(stdout: Readable, stderr: Readable): void {
    this.#follow(stdout, 'debug')
    this.#follow(stderr, 'info')
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#report()
    for (const stream of this.#open) stream.destroy()
  }

  #follow(stream: Readable, level: Level): void {
    let rest = ''
    this.#open.add(stream)
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      // A line without an end is truncated rather than buffered.
      rest = (lines.pop() ?? '').slice(0, maxLine)
      for (const line of lines) this.#line(line, level)
      this.#count(text.length, stream)
    })
    stream.on('close', () => {
      this.#open.delete(stream)
      this.#paused.delete(stream)
      if (rest !== '') this.#line(rest, level)
    })
    // The pipe of a killed process may break.
    stream.on('error', () => undefined)
  }

  #line(line: string, level: Level): void {
    this.#openWindow()
    if (++this.#lines > this.#limits.lines) this.#left++
    else this.#log[level]({ output: line.slice(0, maxLine) }, 'processor output')
  }

  #count(size: number, stream: Readable): void {
    this.#openWindow()
    this.#bytes += size
    if (this.#bytes <= this.#limits.bytes) return
    stream.pause()
    this.#paused.add(stream)
  }

  #openWindow(): void {
    if (this.#closed) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#report()
      this.#bytes = 0
      this.#lines = 0
      for (const stream of this.#paused) stream.resume()
      this.#paused.clear()
    }, this.#limits.windowMs).unref()
  }

  #report(): void {
    if (this.#left > 0) this.#log.info({ lines: this.#left }, 'further processor output was left out')
    this.#left = 0
  }
}
