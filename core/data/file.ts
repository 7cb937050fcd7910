import { dataErrors } from './errors.js'
import { LineError, type LineWriter, readLines } from './lines.js'
import type { DataRecord } from './part.js'

/** Version of the format. A file of a later version is refused. */
const version = 1
const format = 'zin-data'

/** The first line of a file. */
export interface DataHead {
  readonly zin: string
  readonly app: string
  /** ISO 8601. */
  readonly at: string
  /** By plugin. */
  readonly parts: Readonly<Record<string, { readonly where: string; readonly facts?: unknown }>>
}

/** A record with its plugin. */
export interface Placed {
  readonly part: string
  readonly record: DataRecord
  readonly line: number
  /** Of the file, up to the end of its line. */
  readonly bytes: number
}

export function headText(head: DataHead): string {
  return JSON.stringify({ format, version, ...head })
}

export function recordText(part: string, record: DataRecord): string {
  return JSON.stringify({ part, ...record })
}

/** Writes the last line, by which an import knows that the file is complete and unchanged. */
export async function writeEnd(writer: LineWriter, lines: Readonly<Record<string, number>>): Promise<void> {
  await writer.write(JSON.stringify({ end: true, records: lines, sha256: await writer.digest() }))
}

/**
 * Reads a file: first calls `onHead`, then yields each record. Throws DATA_FILE_INVALID for the first line that is wrong, and at the end if the
 * file was cut off or changed.
 */
export async function* readData(file: string, onHead: (head: DataHead) => void): AsyncGenerator<Placed, void, undefined> {
  const counts: Record<string, number> = {}
  let ended = false
  let last = 0
  const invalid = (line: number, why: string, error?: unknown) => dataErrors.DATA_FILE_INVALID(file, line, why, error)
  try {
    for await (const { before, bytes, number, text } of readLines(file)) {
      last = number
      if (ended) throw new LineError(number, 'there is a line after the last one of the export')
      const value = objectOf(text, number)
      if (number === 1) onHead(headOf(value))
      else if ('end' in value) {
        checkEnd(value, counts, before(), number)
        ended = true
      } else {
        const { part, ...record } = value
        if (typeof part !== 'string' || typeof record.of !== 'string') throw new LineError(number, 'the record has no "part" or no "of"')
        counts[part] = (counts[part] ?? 0) + 1
        yield { part, record: record as DataRecord, line: number, bytes }
      }
    }
  } catch (error) {
    if (error instanceof LineError) throw invalid(error.line, error.message, error)
    if (error instanceof Error && 'syscall' in error) throw dataErrors.DATA_FILE_UNREADABLE(file, error)
    throw error
  }
  if (last === 0) throw invalid(1, 'the file is empty')
  if (!ended) throw invalid(last, 'the file was cut off: the last line of the export, with its counts, is missing')
}

type Json = Readonly<Record<string, unknown>>

function objectOf(text: string, line: number): Json {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new LineError(line, line === 1 ? notAnExport : 'the line is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new LineError(line, 'the line is not a JSON object')
  return value as Json
}

const notAnExport = 'this is not a file of "zin data:export"'

function headOf(value: Json): DataHead {
  if (value.format !== format) throw new LineError(1, notAnExport)
  if (value.version !== version)
    throw new LineError(
      1,
      `the file has version ${String(value.version).slice(0, 20)} of the format, and this version of Zin reads ${version}. Import it with the version of Zin that has written it (${String(value.zin).slice(0, 30)}), or a later one`,
    )
  const { app, at, parts, zin } = value
  const isPlain = (one: unknown): boolean => typeof one === 'object' && one !== null && !Array.isArray(one)
  if (typeof app !== 'string' || typeof at !== 'string' || typeof zin !== 'string' || !isPlain(parts))
    throw new LineError(1, 'the first line lacks "app", "at", "zin" or "parts"')
  if (!Object.values(parts as Json).every(isPlain)) throw new LineError(1, '"parts" contains something else than objects')
  return value as unknown as DataHead
}

function checkEnd({ records, sha256 }: Json, counts: Readonly<Record<string, number>>, digest: string, line: number): void {
  if (sha256 !== digest) throw new LineError(line, 'the checksum does not match: the file was changed or damaged since it was written')
  const given = typeof records === 'object' && records !== null ? Object.entries(records) : []
  const wrong = given.find(([part, count]) => (counts[part] ?? 0) !== count)
  if (wrong !== undefined) throw new LineError(line, `the file has ${counts[wrong[0]] ?? 0} lines of ${wrong[0]} instead of ${wrong[1]}`)
}
