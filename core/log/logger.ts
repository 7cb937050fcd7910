import { Socket } from 'node:net'
import { join } from 'node:path'
import { type LoggerOptions as PinoOptions, pino } from 'pino'
import { wantsColors } from '../util/colors.js'
import { logErrors } from './errors.js'
import { PipeSink } from './pipe-sink.js'
import { maskText, redactFacts } from './redact.js'
import { jsonRequestLine, type RequestLog, textRequestLine } from './request-line.js'
import { textFormatter } from './text.js'
import type { LogFields, Logger, LogLevel } from './types.js'

export interface LoggerOptions {
  readonly level: LogLevel
  /** `console` (stdout), `stderr`, `file` or `silent`. */
  readonly channel: string
  readonly format: 'text' | 'json'
  /** Name of the app: the field `app` of JSON lines. */
  readonly name: string
  /** Folder in which the channel `file` writes `logs/zin.log`. */
  readonly dataDir?: string
  /** A stream or the path of a file, instead of the destination of the channel. */
  readonly destination?: NodeJS.WritableStream | string
}

/** A logger that owns its destination. */
export interface OwnedLogger extends Logger {
  /** Flushes and closes the file or pipe, within 1 s. Lines logged later are dropped. Never rejects. */
  close(): Promise<void>
}

interface Sink {
  /** @param fatal whether the line is at level fatal. */
  write(line: string, fatal: boolean): void
  close(): Promise<void>
  readonly colors: boolean
}

/**
 * Creates the logger of a host. Values of well-known secret fields are masked at any depth, as are tokens and passwords inside
 * text. A disabled level costs one call of an empty function.
 *
 * @throws ZinError ZIN_LOG_CHANNEL for an unknown channel, or `file` without a path.
 */
export function createLogger(options: LoggerOptions): OwnedLogger {
  const sink = openSink(options, (lines, ms) => notice(lines, ms))
  const silent = options.channel === 'silent'
  const format = options.format === 'text' && !silent ? textFormatter(sink.colors) : (line: string) => line
  let closed = false
  let added: readonly LogFields[] = []
  const everywhere = { pid: process.pid, app: options.name }
  const requestLine =
    options.format === 'text' && !silent ? textRequestLine(sink.colors) : jsonRequestLine(JSON.stringify(everywhere).slice(1, -1))
  const settings: PinoOptions = {
    level: silent ? 'silent' : options.level,
    base: everywhere,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: redactFacts },
    // redactFacts has already converted errors to plain objects.
    serializers: { err: (error: unknown) => error },
    mixin: () => (added.length === 0 ? noFields : Object.assign({}, ...added.map((fields) => fields()))),
    // pino's default would write into the result of the mixin.
    mixinMergeStrategy: (facts, fields) => (fields === noFields ? facts : { ...fields, ...facts }),
  }
  const logger = pino(settings, {
    write: (line: string) => void (closed || sink.write(format(maskText(line)), line.startsWith('{"level":"fatal"'))),
  })
  /** Tells that lines were dropped. Also while the log closes; without the fields of whoever logs at that moment. */
  const notice = (lines: number, ms: number): string => {
    let text = ''
    const write = (line: string): void => {
      text = format(line)
    }
    pino({ ...settings, mixin: () => noFields }, { write }).warn({ lines, ms }, 'lines of the log were dropped, because nothing read them')
    return text
  }
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await sink.close()
  }
  const addFields = (fields: LogFields): (() => void) => {
    added = [...added, fields]
    return () => {
      added = added.filter((one) => one !== fields)
    }
  }
  const request: RequestLog = (level, facts) => {
    const hasMore = added.some((fields) => fields() !== undefined)
    if (hasMore) logger[level](facts, 'request')
    else if (!closed && logger.isLevelEnabled(level)) sink.write(requestLine(level, Date.now(), facts), false)
  }
  return Object.assign(logger as unknown as Logger, { child: maskedChild(logger.child), addFields, close, request })
}

const noFields = {}

/** pino does not pass a child's bindings through its formatters. Children inherit this function. */
function maskedChild(child: (bindings: Record<string, unknown>) => unknown): Logger['child'] {
  return function (this: Logger, bindings) {
    // Its lines have more fields than those of requests.
    return Object.assign(child.call(this, { ...redactFacts(bindings) }) as Logger, { request: undefined })
  }
}

type Notice = (lines: number, ms: number) => string

function openSink({ channel, destination: given, dataDir }: LoggerOptions, notice: Notice): Sink {
  const destination = given ?? (channel === 'file' && dataDir !== undefined ? join(dataDir, 'logs', 'zin.log') : undefined)
  if (typeof destination === 'object') return streamSink(destination)
  switch (channel) {
    case 'console':
      return destination === undefined ? standardSink(1, notice) : descriptorSink(destination)
    case 'stderr':
      return destination === undefined ? standardSink(2, notice) : descriptorSink(destination)
    case 'file':
      if (destination !== undefined) return descriptorSink(destination)
      throw logErrors.ZIN_LOG_CHANNEL('the log channel "file" needs a data folder or the path of a file')
    case 'silent':
      return { write: () => undefined, close: async () => undefined, colors: false }
    default:
      throw logErrors.ZIN_LOG_CHANNEL(`unknown log channel "${channel}"; LOG_CHANNEL must be console, stderr, file or silent`)
  }
}

function streamSink(stream: NodeJS.WritableStream): Sink {
  return {
    write: (line) => void stream.write(line),
    // The stream belongs to the caller: flush it, but leave it open.
    close: () => new Promise((resolve) => stream.write('', () => resolve())),
    colors: false,
  }
}

/** How long closing the log may take, in ms: nobody may read it any more. */
const closeMs = 1_000
/** Limit of the lines that wait for space on a full disk, in bytes. Later ones are lost. */
const mostWaiting = 2 ** 20

/** Writes to stdout or stderr. A pipe is written without waiting for its reader, except on Windows. */
function standardSink(fd: 1 | 2, notice: Notice): Sink {
  const stream = fd === 1 ? process.stdout : process.stderr
  const isPipe = stream instanceof Socket && !stream.isTTY && process.platform !== 'win32'
  return isPipe ? new PipeSink({ stream, fd, closeMs, notice, colors: wantsColors(stream, process.env) }) : descriptorSink(fd)
}

/**
 * Writes synchronously, so that no line is lost when the process dies. On a full disk, lines wait for a later write: whoever logs must not fail,
 * nor end the process.
 */
function descriptorSink(dest: number | string): Sink {
  const file = openFile(dest)
  const terminal = dest === 1 ? process.stdout : process.stderr
  return {
    write: (line) => void attempt(() => file.write(line)),
    close: () =>
      new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(end, closeMs)
        file.once('close', end)
        file.once('error', end)
        if (!attempt(() => file.end())) end()
      }),
    colors: typeof dest === 'number' && wantsColors(terminal, process.env),
  }
}

/** False if it failed. */
function attempt(step: () => void): boolean {
  try {
    step()
    return true
  } catch {
    return false
  }
}

function openFile(dest: number | string): ReturnType<typeof pino.destination> {
  try {
    return pino.destination({ dest, sync: true, append: true, mkdir: true, mode: 0o600, maxLength: mostWaiting })
  } catch (error) {
    throw logErrors.ZIN_LOG_FILE(dest, (error as Error).message, error)
  }
}
