// Files of zin data:export, made by a test.
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'

type Json = Record<string, unknown>

/** Writes a file whose last line fits the others. Lines may be objects, or texts that are written as they are. */
export async function writeData(file: string, head: Json, records: readonly (Json | string)[]): Promise<string> {
  const counts: Record<string, number> = {}
  for (const record of records)
    if (typeof record === 'object' && typeof record.part === 'string') counts[record.part] = (counts[record.part] ?? 0) + 1
  const body = [head, ...records].map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
  const sha256 = createHash('sha256').update(body).digest('hex')
  await writeFile(file, `${body}${JSON.stringify({ end: true, records: counts, sha256 })}\n`)
  return file
}

/** The first line and the records of a file. */
export async function readDataFile(file: string): Promise<{ readonly head: Json; readonly records: readonly Json[] }> {
  const [head = {}, ...records] = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Json)
  return { head, records }
}
