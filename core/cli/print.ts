import { createRequire } from 'node:module'
import { escapeControls } from '../log/escape.js'
import type { Printer } from './command.js'

/** The part of a stream that is written to. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface PrinterOptions {
  readonly stdout: Output
  readonly stderr: Output
  readonly json: boolean
  /** Name of the command that prints. */
  readonly command: string
}

/**
 * Prints for people, or with `json` exactly one JSON document on stdout per table or record; then lines go to stderr.
 * What is printed may come from requests and jobs: control characters are made visible.
 */
export function createPrinter({ stdout, stderr, json, command }: PrinterOptions): Printer {
  const printJson = (value: unknown): void => void stdout.write(`${JSON.stringify(value, null, 2)}\n`)
  return {
    json,
    line: (text = '') => void (json ? stderr : stdout).write(`${text}\n`),
    error: (text) => void stderr.write(`zin ${command}: ${text}\n`),
    table(rows, columns) {
      if (json) return printJson(rows)
      const heads = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))]
      if (rows.length === 0) return void stdout.write('none\n')
      const cells = rows.map((row) => heads.map((head) => cellText(row[head])))
      stdout.write(`${stdout.isTTY ? boxed(heads, cells, stdout.columns ?? 80) : aligned(heads, cells)}\n`)
    },
    record(value) {
      if (json) return printJson(value)
      const width = Math.max(0, ...Object.keys(value).map((key) => key.length))
      for (const [key, field] of Object.entries(value)) stdout.write(`${key.padEnd(width)}  ${cellText(field)}\n`)
    },
  }
}

function cellText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return escapeControls(value.join(', '))
  return escapeControls(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

function aligned(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columnWidths(heads, rows)
  return [heads, ...rows]
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function boxed(heads: readonly string[], rows: readonly (readonly string[])[], terminal: number): string {
  // Loaded here: most commands print no table on a terminal.
  const Table = createRequire(import.meta.url)('cli-table3') as typeof import('cli-table3')
  // Two blanks of padding and one border a column, and the last border.
  const room = terminal - heads.length * 3 - 1
  const table = new Table({
    head: [...heads],
    colWidths: fitWidths(columnWidths(heads, rows), room).map((width) => width + 2),
    wordWrap: true,
    wrapOnWordBoundary: false,
    style: { head: ['bold'], border: [] },
  })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

function columnWidths(heads: readonly string[], rows: readonly (readonly string[])[]): number[] {
  return heads.map((head, index) => rows.reduce((width, row) => Math.max(width, row[index]?.length ?? 0), head.length))
}

/** The least width a squeezed column keeps. */
const minWidth = 6

/** Takes width from the widest column, one character at a time, until all fit. */
export function fitWidths(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted]
  let sum = widths.reduce((total, width) => total + width, 0)
  while (sum > room) {
    const widest = Math.max(...widths)
    if (widest <= minWidth) break
    widths[widths.indexOf(widest)] = widest - 1
    sum--
  }
  return widths
}
