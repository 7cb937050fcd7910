import { escapeControls } from './escape.js'

type Line = Readonly<Record<string, unknown>>

/** Colours of a terminal, by level. */
const colorCodes: Readonly<Record<string, number>> = { trace: 90, debug: 34, info: 32, warn: 33, error: 31, fatal: 41 }

/**
 * Makes the formatter of `LOG_FORMAT=text`: one JSON line in, one readable line out. Only the stack of an error follows on
 * lines of its own, always indented, so that nothing logged can pass for another line.
 */
export function textFormatter(colors: boolean): (json: string) => string {
  return (json) => {
    const line = JSON.parse(json) as Line
    const { level, time, pid: _pid, app: _app, plugin, msg, err, ...facts } = line
    const words = [
      `[${clockTime(new Date(String(time)))}] ${levelWord(String(level), colors)}:`,
      plugin === undefined ? '' : `${printable(plugin)}:`,
      msg === undefined ? '' : escapeControls(String(msg)),
      ...Object.entries(facts).map(([key, value]) => `${escapeControls(key)}=${printable(value)}`),
      isError(err) ? errorWords(err, msg) : err === undefined ? '' : `err=${printable(err)}`,
    ]
    return `${words.filter((word) => word !== '').join(' ')}${isError(err) ? stackLines(err) : ''}\n`
  }
}

/** Local time of day: `13:05:09.007`. */
function clockTime(time: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0')
  const day = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')
  return `${day}.${String(time.getMilliseconds()).padStart(3, '0')}`
}

function levelWord(level: string, colors: boolean): string {
  const word = level.toUpperCase()
  return colors ? `\u001b[${colorCodes[level] ?? 32}m${word}\u001b[39;49m` : word
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
