import { createRequire } from 'node:module'
import { escapeControls } from './escape.js'

type Line = Readonly<Record<string, unknown>>

const levelNumbers: Readonly<Record<string, number>> = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }

/**
 * Makes the formatter of `LOG_FORMAT=text`: one JSON line in, one readable line out. Only the stack of an error follows on
 * lines of its own, always indented, so that nothing logged can pass for another line.
 */
export function textFormatter(colors: boolean): (json: string) => string {
  // Loaded here and not on top: the JSON format and the CLI do without it.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const pretty = prettyFactory({ colorize: colors, translateTime: 'SYS:HH:MM:ss.l', hideObject: true })
  return (json) => {
    const line = JSON.parse(json) as Line
    const { level, time, pid: _pid, app: _app, plugin, msg, err, ...facts } = line
    const head = pretty({ level: levelNumbers[String(level)] ?? 30, time: Date.parse(String(time)) }).trimEnd()
    const words = [
      head,
      plugin === undefined ? '' : `${printable(plugin)}:`,
      msg === undefined ? '' : escapeControls(String(msg)),
      ...Object.entries(facts).map(([key, value]) => `${escapeControls(key)}=${printable(value)}`),
      isError(err) ? errorWords(err, msg) : err === undefined ? '' : `err=${printable(err)}`,
    ]
    return `${words.filter((word) => word !== '').join(' ')}${isError(err) ? stackLines(err) : ''}\n`
  }
}

interface PlainError {
  readonly message: string
  readonly type?: unknown
  readonly code?: unknown
  readonly stack?: unknown
  readonly cause?: unknown
}

function isError(value: unknown): value is PlainError {
  return typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string'
}

function errorWords(error: PlainError, said: unknown): string {
  const message = error.message === said ? '' : `err=${JSON.stringify(escapeControls(error.message))}`
  const code = error.code === undefined ? '' : `code=${printable(error.code)}`
  return [message, code].filter((word) => word !== '').join(' ')
}

function stackLines(error: PlainError): string {
  const frames = String(error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
  const lines = frames.map((frame) => `\n    ${escapeControls(frame.trim())}`).join('')
  const { cause } = error
  return isError(cause)
    ? `${lines}\n    caused by ${escapeControls(`${String(cause.type ?? 'Error')}: ${cause.message}`)}${stackLines(cause)}`
    : lines
}

/** Words as they are, everything else as JSON; never a control character. */
function printable(value: unknown): string {
  const text = typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : (JSON.stringify(value) ?? 'undefined')
  return escapeControls(text)
}
