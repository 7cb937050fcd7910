import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { maxLineBytes } from '../../core/data/lines.js'
import { readDataFile, writeData } from './file.js'
import { fillQueues, fillTables } from './fill.js'
import { exportFrom, fileIn, importTo, type Place, startAt } from './moving.js'

type Json = Record<string, unknown>
type Records = Json[]

/** Changes one record of a kind, and gives its line. */
const change = (records: Records, find: (record: Json) => boolean, changed: (record: Json) => Json): number => {
  const at = records.findIndex(find)
  records[at] = changed(records[at] as Json)
  return at + 2
}
const job = (record: Json): boolean => 'job' in record
const withJob = (fields: Json) => (record: Json) => ({ ...record, job: { ...(record.job as Json), ...fields } })
const isRow = (table: string) => (record: Json) => record.of === table && 'row' in record
const withValue = (at: number, value: unknown) => (record: Json) => ({ ...record, row: (record.row as unknown[]).with(at, value) })

/** What is wrong, how a file gets that way, and what the message says. The change returns the number of the line. */
const hostile: readonly (readonly [what: string, change: (records: Records) => number, says: RegExp])[] = [
  [
    'a table that the app does not have',
    (r) =>
      change(
        r,
        (one) => one.of === 'kinds' && 'columns' in one,
        (one) => ({ ...one, of: 'secrets' }),
      ),
    /this app has no table "secrets"/,
  ],
  [
    'a column that the table does not have',
    (r) =>
      change(
        r,
        (one) => one.of === 'kinds' && 'columns' in one,
        (one) => ({ ...one, columns: [...(one.columns as string[]), 'x; drop table kinds'] }),
      ),
    /has no column "x; drop table kinds"/,
  ],
  [
    'rows without a column that they need',
    (r) =>
      change(
        r,
        (one) => one.of === 'kinds' && 'columns' in one,
        (one) => ({ ...one, columns: (one.columns as string[]).slice(1) }),
      ),
    /lack the column "id"/,
  ],
  ['a row that is too short', (r) => change(r, isRow('kinds'), (one) => ({ ...one, row: [1] })), /does not have 8 values/],
  [
    'a text where the column has integers',
    (r) => change(r, isRow('kinds'), withValue(1, 'one')),
    /kinds\.part is a text instead of an integer/,
  ],
  ['null in a column that has none', (r) => change(r, isRow('kinds'), withValue(1, null)), /kinds\.part is null/],
  ['an object as a value', (r) => change(r, isRow('kinds'), withValue(6, { bytes: 1 })), /kinds\.body is neither null, a text/],
  ['bytes that are not base64', (r) => change(r, isRow('kinds'), withValue(3, { bytes: '&&' })), /kinds\.bytes is neither/],
  ['a text with NUL', (r) => change(r, isRow('kinds'), withValue(6, 'a\0b')), /kinds\.body contains the character NUL/],
  ['a text that is too long', (r) => change(r, isRow('kinds'), withValue(0, 'x'.repeat(51))), /kinds\.id has 51 instead of at most 50/],
  [
    'a job in a state that does not exist',
    (r) => change(r, job, withJob({ state: 'active' })),
    /the field "state" of a job of the queue "busy"/,
  ],
  ['data of a job that is not JSON', (r) => change(r, job, withJob({ data: '{' })), /the field "data"/],
  ['data of a job that one of the stores cannot hold', (r) => change(r, job, withJob({ data: '"\\u0000"' })), /the field "data"/],
  ['a job with an id that is a key of its queue', (r) => change(r, job, withJob({ id: 'wait' })), /the field "id"/],
  ['a job with an unknown field', (r) => change(r, job, withJob({ lock: 'mine' })), /the field "lock"/],
  ['a job with a negative priority', (r) => change(r, job, withJob({ priority: -1 })), /the field "priority"/],
  ['a job that ran too often to note', (r) => change(r, job, withJob({ attempts: 2 ** 31 })), /the field "attempts"/],
  ['a job whose attempts are no number', (r) => change(r, job, withJob({ opts: { attempts: 'many' } })), /the field "opts"/],
  ['a job of a queue with a colon', (r) => change(r, job, (one) => ({ ...one, of: 'a:b' })), /"a:b" is not the name of a queue/],
  [
    'a log without its job',
    (r) =>
      change(
        r,
        (one) => 'log' in one,
        (one) => ({ ...one, log: { job: 'other', from: 0, lines: [] } }),
      ),
    /do not follow their job/,
  ],
  [
    'a key without a value',
    (r) =>
      change(
        r,
        (one) => one.part === 'kv',
        ({ value: _, ...one }) => one,
      ),
    /the value of a key is not a text/,
  ],
  [
    'an expiry that is no time',
    (r) =>
      change(
        r,
        (one) => one.part === 'kv',
        (one) => ({ ...one, expiresAt: 'soon' }),
      ),
    /the expiry of a key/,
  ],
  [
    'data of a plugin that the app does not have',
    (r) =>
      change(
        r,
        (one) => one.part === 'kv',
        (one) => ({ ...one, part: 'mails' }),
      ),
    /data of the plugin "mails", which this app does not have/,
  ],
  [
    'a record without a plugin',
    (r) =>
      change(
        r,
        (one) => one.part === 'kv',
        ({ part: _, ...one }) => one,
      ),
    /no "part"/,
  ],
  [
    'a line that is a list',
    (r) =>
      change(
        r,
        (one) => one.part === 'kv',
        () => [1] as unknown as Json,
      ),
    /the line is not a JSON object/,
  ],
]

describe('a file that cannot be imported', () => {
  let source: Place
  let target: Place
  let good: { readonly head: Json; readonly records: readonly Json[] }

  before(async () => {
    source = { dataDir: await mkdtemp(join(tmpdir(), 'zin-move-')), env: {} }
    target = { dataDir: await mkdtemp(join(tmpdir(), 'zin-move-')), env: {} }
    const host = await startAt(source)
    try {
      await fillTables(host)
      await fillQueues(host)
    } finally {
      await host.stop()
    }
    await exportFrom(source, 'good')
    good = await readDataFile(fileIn(source, 'good'))
  })
  after(async () => {
    for (const { dataDir } of [source, target]) await rm(dataDir, { recursive: true, force: true })
  })

  /** Refused with the line and the reason, and nothing was written. */
  const refused = async (file: string, line: number, says: RegExp): Promise<void> => {
    await assert.rejects(importTo(target, file), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'DATA_FILE_INVALID', error.message)
      assert.ok(error.message.includes(`, line ${line}: `), error.message)
      assert.match(error.message, says)
      return true
    })
  }
  const file = (): string => fileIn(target, 'bad')

  for (const [what, changed, says] of hostile) {
    it(`is refused with its line for ${what}`, async () => {
      const records = structuredClone(good.records) as Records
      const line = changed(records)
      await writeData(file(), good.head, records)
      await refused(file(), line, says)
    })
  }

  it('is refused for another version, other migrations, and what is no export', async () => {
    const records = [...good.records]
    await writeData(file(), { ...good.head, version: 2 }, records)
    await refused(file(), 1, /has version 2 of the format, and this version of Zin reads 1/)
    const parts = structuredClone(good.head.parts) as { database: { facts: { applied: Record<string, string[]> } } }
    const { applied } = parts.database.facts
    applied.login?.push('0099_later')
    await writeData(file(), { ...good.head, parts }, records)
    await refused(file(), 1, /the tables of login in the file are newer: they have the migration 0099_later/)
    applied.login = []
    await writeData(file(), { ...good.head, parts }, records)
    await refused(file(), 1, /the tables of login in the file are older: they lack the migration/)
    await writeFile(file(), 'id,name\n1,Ann\n')
    await refused(file(), 1, /this is not a file of "zin data:export"/)
    await writeFile(file(), '')
    await refused(file(), 1, /the file is empty/)
  })

  it('is refused when it was cut off, changed, or continued', async () => {
    const text = await readFile(fileIn(source, 'good'))
    const lines = text.toString().trim().split('\n').length
    await writeFile(file(), text)
    await truncate(file(), text.lastIndexOf(10, text.length - 2) + 1)
    await refused(file(), lines - 1, /the file was cut off: the last line of the export/)
    await truncate(file(), text.lastIndexOf(10, text.length - 2) - 5)
    await refused(file(), lines - 1, /the line has no end: the file was cut off/)
    await writeFile(file(), text.toString().replace('"attempts":0', '"attempts":1'))
    await refused(file(), lines, /the checksum does not match/)
    await writeFile(file(), text)
    await appendFile(file(), '{}\n')
    await refused(file(), lines + 1, /a line after the last one/)
    await writeFile(file(), Buffer.concat([text.subarray(0, text.indexOf(10) + 1), Buffer.from([0xff, 0xfe, 10])]))
    await refused(file(), 2, /not UTF-8/)
  })

  it('is refused for a line that is too long, without holding it', async () => {
    await writeFile(file(), `${JSON.stringify(good.head)}\n`)
    const chunk = Buffer.alloc(2 ** 24, 'x')
    for (let size = 0; size <= maxLineBytes; size += chunk.length) await appendFile(file(), chunk)
    await refused(file(), 2, /the line has more than/)
  })

  it('has written nothing', async () => {
    await exportFrom(target, 'after')
    const { records } = await readDataFile(fileIn(target, 'after'))
    assert.deepEqual(
      records.filter((record) => record.key !== 'since'),
      [],
    )
  })
})
