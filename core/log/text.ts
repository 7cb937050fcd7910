import { escapeControls } from './escape.js'

type Line = Readonly<Record<string, unknown>>

/** Terminal colour codes by level. */
const colorCodes: Readonly<Record<string, number>> = { trace: 90, debug: 34, info: 32, warn: 33, error: 31, fatal: 41 }

/**
 * Creates the formatter of `LOG_FORMAT=text`: one JSON line in, one readable line out. Further lines of a message and the
 * stack of an error follow on separate, indented lines, so that logged data cannot forge a log line.
 */
export function textFormatter(colors: boolean): (json: string) => string {
  return (json) => {
    const line = JSON.parse(json) as Line
    const { level, time, pid: _pid, app: _app, plugin, msg, err, ...facts } = line
    const [said = '', ...more] = msg === undefined ? [] : linesOf(String(msg))
    const words = [
      `[${clockTime(new Date(String(time)))}] ${levelWord(String(level), colors)}:`,
      plugin === undefined ? '' : `${printable(plugin)}:`,
      said,
      ...Object.entries(facts).map(([key, value]) => `${escapeControls(key)}=${printable(value)}`),
      isError(err) ? errorWords(err, msg) : err === undefined ? '' : `err=${printable(err)}`,
    ]
    const below = [...more, ...(isError(err) && !says(msg, err) ? linesOf(err.message).slice(1) : [])]
    return `${words.filter((word) => word !== '').join(' ')}${below.map(indented).join('')}${isError(err) ? stackLines(err) : ''}\n`
  }
}

/** Local time of day: `13:05:09.007`. */
const clockTime = (time: Date): string => `${localSecond(time)}${String(time.getMilliseconds()).padStart(3, '0')}`

/** Local time of day, up to the milliseconds: `13:05:09.`. */
export function localSecond(time: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0')
  return `${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}.`
}

export function levelWord(level: string, colors: boolean): string {
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

/** Whether the message of a line already contains that of its error. */
function says(msg: unknown, error: PlainError): boolean {
  return typeof msg === 'string' && msg.includes(error.message)
}

function errorWords(error: PlainError, said: unknown): string {
  const message = says(said, error) ? '' : `err=${JSON.stringify(linesOf(error.message)[0])}`
  const code = error.code === undefined ? '' : `code=${printable(error.code)}`
  return [message, code].filter((word) => word !== '').join(' ')
}

function stackLines(error: PlainError): string {
  const frames = String(error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
  const lines = frames.map((frame) => indented(escapeControls(frame.trim()))).join('')
  const { cause } = error
  return isError(cause)
    ? `${lines}${linesOf(`caused by ${String(cause.type ?? 'Error')}: ${cause.message}`)
        .map(indented)
        .join('')}${stackLines(cause)}`
    : lines
}

/** Splits a text into lines that are safe to print. */
function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/).map(escapeControls)
}

const indented = (line: string): string => `\n    ${line}`

/** Formats single words unchanged and everything else as JSON, without control characters. */
export function printable(value: unknown): string {
  const text = typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : (JSON.stringify(value) ?? 'undefined')
  return escapeControls(text)
}
