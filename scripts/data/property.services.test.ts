import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { mysqlDatabase } from '../testing/mysql-database.js'
import fc from '../testing/properties.js'
import { readDataFile, writeData } from './file.js'
import { exportFrom, importTo, type Place, recordsOf, stores } from './moving.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

const time = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 })
const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((value) => !value.includes('\0') && !value.startsWith('\ufeff'))
/** Each store normalizes numbers and the order of keys. */
const json = fc.oneof(
  fc.integer(),
  text,
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), text, { maxKeys: 3 }),
)
const jsonText = json.map((value) => JSON.stringify(value))
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const small = fc.nat(20)

const job = fc
  .record({
    name: text,
    state: fc.constantFrom('waiting', 'delayed', 'waiting-children', 'completed', 'failed'),
    data: jsonText,
    opts: fc.record(
      {
        attempts: fc.integer({ min: 1, max: 9 }),
        subject: text,
        failParentOnFailure: fc.boolean(),
        removeOnFail: fc.record({ age: small }),
      },
      { requiredKeys: ['attempts'] },
    ),
    priority: fc.oneof(fc.constant(0), fc.nat(5)),
    delay: small,
    addedAt: time,
    readyAt: time,
    startedAt: optional(time),
    endedAt: time,
    ...{ attempts: small, starts: small, stalls: small },
    ...{
      progress: optional(jsonText),
      result: optional(jsonText),
      error: optional(text),
      stacks: optional(fc.array(text, { maxLength: 2 }).map((list) => JSON.stringify(list))),
    },
    worker: optional(text.filter((value) => value !== '')),
  })
  .map(({ endedAt, readyAt, ...rest }) => ({
    ...rest,
    ...(rest.state === 'delayed' && { readyAt }),
    ...((rest.state === 'completed' || rest.state === 'failed') && { endedAt }),
  }))
const withLog = fc.tuple(
  job,
  fc.array(text, { maxLength: 3 }),
  fc.array(fc.constantFrom('pending', 'processed', 'ignored', 'failed'), { maxLength: 3 }),
)

/** The order in which jobs of a state run, or have ended. */
const orderOf = ({
  addedAt,
  endedAt = 0,
  priority,
  readyAt = 0,
  state,
}: {
  state: string
  priority: number
  addedAt: number
  readyAt?: number
  endedAt?: number
}): number => (state === 'waiting' ? priority : state === 'delayed' ? readyAt : state === 'waiting-children' ? addedAt : endedAt)
const states = ['waiting', 'delayed', 'waiting-children', 'completed', 'failed']

/** The records of one queue, in the order of an export. */
const queueRecords = fc.array(withLog, { minLength: 1, maxLength: 12 }).map((all) => {
  const of = 'made'
  const sorted = all.toSorted(([a], [b]) => states.indexOf(a.state) - states.indexOf(b.state) || orderOf(a) - orderOf(b))
  const records: Record<string, unknown>[] = [{ part: 'queues', of, queue: { meta: { concurrency: '2' } } }]
  for (const [i, [one, lines, children]] of sorted.entries()) {
    const id = `job-${String(i).padStart(3, '0')}`
    records.push({ part: 'queues', of, job: { id, ...JSON.parse(JSON.stringify(one)) } })
    if (lines.length > 0) records.push({ part: 'queues', of, log: { job: id, from: i % 2, lines } })
    for (const [n, state] of children.entries()) {
      const value = state === 'processed' ? '{"done":1}' : state === 'ignored' ? 'why not' : undefined
      records.push({
        part: 'queues',
        of,
        children: { job: id, children: [{ queue: 'kids', id: `kid-${n}`, state, ...(value && { value }) }] },
      })
    }
  }
  return records
})

const keyRecords = fc
  .uniqueArray(fc.tuple(text, text), { maxLength: 10, selector: ([key]) => key })
  .map((pairs) => pairs.map(([key, value]) => ({ part: 'kv', of: 'keys', key: `made:${key}`, value })))

/** Children are listed one by one here, and together in an export. */
const single = (records: readonly Record<string, unknown>[]): readonly string[] =>
  records
    .filter(({ key, part }) => key !== 'since' && part !== 'database')
    .flatMap((record) => {
      const { children } = record as { children?: { job: string; children: object[] } }
      return children === undefined
        ? [record]
        : children.children.map((child) => ({ ...record, children: { job: children.job, children: [child] } }))
    })
    .map((record) => JSON.stringify(sorted(record)))
    .toSorted()

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)]),
  )
}

describe('any data', () => {
  it('is the same after it was moved to the servers, and to the embedded stores', { timeout: 150_000 }, async () => {
    const { create, drop, env } = mysqlDatabase('move')
    await create()
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-move-'))
    const servers: Place = {
      dataDir: join(dataDir, 'servers'),
      env: { ...env, REDIS_URL, APP_NAME: `moving-${randomUUID()}` },
      plugins: stores,
    }
    const embedded: Place = { dataDir: join(dataDir, 'embedded'), env: {}, plugins: stores }
    try {
      const heads = new Map<Place, Record<string, unknown>>()
      for (const place of [servers, embedded]) {
        await exportFrom(place, join(dataDir, 'empty'))
        heads.set(place, (await readDataFile(join(dataDir, 'empty'))).head)
        await rm(join(dataDir, 'empty'))
      }
      await fc.assert(
        fc.asyncProperty(queueRecords, keyRecords, async (jobs, keys) => {
          const records = [...jobs, ...keys]
          const given = await writeData(join(dataDir, 'given'), heads.get(embedded) ?? {}, records)
          const expected = single(await recordsOf(given))
          for (const place of [servers, embedded]) {
            await importTo(place, given, { replace: true })
            const out = join(dataDir, 'out')
            await rm(out, { force: true })
            await exportFrom(place, out)
            assert.deepEqual(single(await recordsOf(out)), expected)
          }
        }),
        { numRuns: 8, endOnFailure: true },
      )
    } finally {
      await rm(dataDir, { recursive: true, force: true })
      await drop()
    }
  })
})
