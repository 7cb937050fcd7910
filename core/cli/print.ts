import stringWidth from 'fast-string-width'
import type { Printer } from '../host/command.js'
import { escapeControls, escapeLines } from '../log/escape.js'
import { jsonError } from './describe-error.js'
import { cliErrors } from './errors.js'
import { fittedTable, plainTable, wrapLine, wrapWords } from './table.js'

/** The writable part of a stream. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface PrinterOptions {
  readonly stdout: Output
  readonly stderr: Output
  readonly json: boolean
  /** Whether to use terminal styles. Default false. */
  readonly colors?: boolean
  /** Name of the command. */
  readonly command: string
}

/** Width of a progress bar in characters. */
const barWidth = 24

/**
 * Creates a printer. It prints text, or with `json` exactly one JSON document on stdout per table or record, and lines on stderr.
 * What it prints may contain data of requests and jobs, so control and format characters are escaped; in JSON, too, as JSON does.
 */
export function createPrinter({ stdout, stderr, json, colors = false, command }: PrinterOptions): Printer {
  const bold = (text: string): string => (colors ? `\u001b[1m${text}\u001b[22m` : text)
  const room = roomOf(stdout)
  const printJson = (value: unknown): void => void stdout.write(`${escapeLines(JSON.stringify(value, null, 2))}\n`)
  return {
    json,
    line(text = '', { verbatim = false } = {}) {
      const output = json ? stderr : stdout
      const safe = escapeLines(text)
      output.write(`${verbatim ? safe : wrapped(safe, output)}\n`)
    },
    error(text) {
      stderr.write(json ? `${jsonError(cliErrors.ZIN_COMMAND_FAILED(text))}\n` : `${wrapped(`zin ${command}: ${text}`, stderr)}\n`)
    },
    async waiting(what, work) {
      // Only for a user at a terminal; the log of a deployment does not need it.
      const says = !json && stderr.isTTY === true
      const timer = says ? setTimeout(() => stderr.write(`zin ${command}: waiting for ${what} …\n`), 1_000) : undefined
      return work.finally(() => clearTimeout(timer))
    },
    progress(what) {
      if (json || stderr.isTTY !== true) return { update: () => undefined, end: () => undefined }
      let drawn = ''
      return {
        update(done, total) {
          const share = total <= 0 ? 1 : Math.min(1, Math.max(0, done / total))
          const filled = Math.round(share * barWidth)
          const bar = `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`
          const text = `${bar} ${Math.floor(share * 100)} %  ${what}: ${done} of ${total}`.slice(0, (stderr.columns || 80) - 1)
          if (text !== drawn) stderr.write(`\r${text}\u001b[K`)
          drawn = text
        },
        end() {
          if (drawn !== '') stderr.write('\r\u001b[K')
          drawn = ''
        },
      }
    },
    table(rows, columns) {
      if (json) return printJson(rows)
      if (rows.length === 0) return void stdout.write('none\n')
      const heads = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))]
      const shown = heads.map(escapeControls)
      const cells = rows.map((row) => heads.map((head) => cellText((row as Readonly<Record<string, unknown>>)[head])))
      stdout.write(`${room === undefined ? plainTable(shown, cells) : fittedTable(shown, cells, room, bold)}\n`)
    },
    record(value) {
      if (json) return printJson(value)
      const fields = leavesOf(value)
      const width = Math.max(0, ...fields.map(([key]) => stringWidth(key)))
      for (const [key, field] of fields) {
        const text = cellText(field)
        const lines = room === undefined ? [text] : wrapWords(text, room - width - 2)
        stdout.write(`${key}${' '.repeat(width - stringWidth(key))}  ${lines.join(`\n${' '.repeat(width + 2)}`)}`.trimEnd().concat('\n'))
      }
    },
  }
}

/** The columns of a terminal, undefined otherwise. Some pseudo-terminals report no size. */
function roomOf({ columns, isTTY }: Output): number | undefined {
  return isTTY === true ? columns || 80 : undefined
}

/** Breaks the lines of a text between words if it goes to a terminal. */
export function wrapped(text: string, output: Output): string {
  const room = roomOf(output)
  if (room === undefined) return text
  return text
    .split('\n')
    .map((line) => wrapLine(line, room))
    .join('\n')
}

/** Returns the fields of an object; nested fields are named `outer.inner`. */
function leavesOf(value: object, path = ''): readonly (readonly [key: string, field: unknown])[] {
  return Object.entries(value).flatMap(([key, field]) => {
    const at = escapeControls(`${path}${key}`)
    const isFilled = typeof field === 'object' && field !== null && !Array.isArray(field) && Object.keys(field).length > 0
    return isFilled ? leavesOf(field, `${at}.`) : [[at, isEmpty(field) ? undefined : field] as const]
  })
}

const isEmpty = (field: unknown): boolean => typeof field === 'object' && field !== null && Object.keys(field).length === 0

function cellText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return escapeControls(value.join(', '))
  return escapeControls(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
