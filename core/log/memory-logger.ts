import { Writable } from 'node:stream'
import { createLogger, type OwnedLogger } from './logger.js'
import { textFormatter } from './text.js'
import type { LogLevel } from './types.js'

/** One collected line, as in JSON format. */
export interface MemoryLine {
  readonly level: LogLevel
  readonly msg?: string
  readonly plugin?: string
  readonly err?: { readonly message: string }
  readonly [fact: string]: unknown
}

export interface MemoryLogger extends OwnedLogger {
  /** Every line so far, oldest first. */
  readonly lines: readonly MemoryLine[]
  /** All lines as the real logger would write them, in JSON and in text format; for searching. */
  text(): string
  clear(): void
}

/** Creates a logger for tests: the real one, but it collects its lines instead of writing them. */
export function memoryLogger(level: LogLevel = 'trace'): MemoryLogger {
  const lines: MemoryLine[] = []
  const asText = textFormatter(false)
  const destination = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      lines.push(JSON.parse(chunk) as MemoryLine)
      done()
    },
  })
  const logger = createLogger({ level, channel: 'memory', format: 'json', name: 'test', destination })
  return Object.assign(logger, {
    lines,
    text: () =>
      lines
        .map((line) => JSON.stringify(line))
        .flatMap((json) => [json, asText(json)])
        .join('\n'),
    clear: () => void lines.splice(0),
  })
}
