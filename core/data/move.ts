import { stat } from 'node:fs/promises'
import { messageOf } from '../errors.js'
import { dataErrors } from './errors.js'
import { type DataHead, headText, type Placed, readData, recordText, writeEnd } from './file.js'
import { type LineWriter, maxLineBytes } from './lines.js'
import { isImporting, noteImport } from './marker.js'
import type { DataRecord, DataStore } from './part.js'

/** The open stores, by plugin, in the order in which they are written. */
export type DataStores = ReadonlyMap<string, DataStore>

/** Shows how far the work is: `what` is `records exported`. */
export type Progress = (done: number, total: number, what: string) => void

/** What was moved. */
export interface Moved {
  /** Number of records by plugin, counted as `DataStore.size` does. */
  readonly records: Readonly<Record<string, number>>
  /** What a person should know. */
  readonly notes: readonly string[]
}

/** Records and bytes of their lines that are written at once. */
const [maxBatchRecords, maxBatchBytes] = [500, 2 ** 20]

/** Writes the data of all stores. */
export async function exportData(
  stores: DataStores,
  writer: LineWriter,
  head: Omit<DataHead, 'parts'>,
  progress: Progress,
  dataDir: string,
): Promise<Moved> {
  const partial = await isImporting(dataDir)
  for (const [plugin, store] of stores)
    if (await isPartial(plugin, store, partial)) throw dataErrors.DATA_INCOMPLETE(`The data of ${plugin}`)
  const parts = Object.fromEntries(
    [...stores].map(([plugin, { facts, where }]) => [plugin, { where, ...(facts !== undefined && { facts }) }]),
  )
  await writer.write(headText({ ...head, parts }))
  const lines: Record<string, number> = {}
  const records: Record<string, number> = {}
  const notes: string[] = []
  const total = await sizeOf(stores)
  let done = 0
  for (const [plugin, store] of stores) {
    let [count, written] = [0, 0]
    await attempt(plugin, 'read', async () => {
      const read = store.read()
      for (;;) {
        const next = await read.next()
        if (next.done === true) return void notes.push(...next.value)
        const text = recordText(plugin, next.value)
        if (text.length > maxLineBytes / 3 && Buffer.byteLength(text) > maxLineBytes)
          throw new Error(`a record of ${next.value.of} has more than ${maxLineBytes} bytes, which no import reads`)
        await writer.write(text)
        written++
        if (!isCounted(store, next.value)) continue
        progress(++done, Math.max(total, done), 'records exported')
        count++
      }
    })
    lines[plugin] = written
    records[plugin] = count
  }
  await writeEnd(writer, lines)
  return { records, notes }
}

const isCounted = (store: DataStore | undefined, record: DataRecord): boolean => store?.counts?.(record) ?? true

async function sizeOf(stores: DataStores): Promise<number> {
  let total = 0
  for (const [plugin, store] of stores) total += await attempt(plugin, 'counted', () => store.size())
  return total
}

export interface ImportInput {
  readonly file: string
  readonly stores: DataStores
  readonly dataDir: string
  /** What of the file is left out: plugins, or `<plugin>/<of>`. */
  readonly without: ReadonlySet<string>
  /** Whether to delete what the stores have. */
  readonly replace: boolean
  /** Called when the file is in order, before anything is written; may throw. */
  readonly confirm: (head: DataHead, records: number, found: string) => Promise<void>
  readonly progress: Progress
}

/**
 * Checks the whole file and then writes it to empty stores. If this is ended meanwhile, the app does not start with what is there, and the next
 * import begins anew.
 */
export async function importData({ confirm, dataDir, file, progress, replace, stores, without }: ImportInput): Promise<Moved> {
  const { size } = await stat(file).catch((error: unknown) => {
    throw dataErrors.DATA_FILE_UNREADABLE(file, error)
  })
  const checked = await check(file, stores, without, (bytes) => progress(bytes, size, 'bytes checked'))
  const found = await contentOf(stores, dataDir)
  if (found !== '' && !replace) throw dataErrors.DATA_NOT_EMPTY(found)
  await confirm(checked.head, checked.total, found)
  await noteImport(dataDir, 'importing')
  for (const [plugin, store] of stores) await attempt(plugin, 'written', async () => store.mark?.(true))
  for (const [plugin, store] of [...stores].reverse()) await attempt(plugin, 'deleted', () => store.clear())
  const records: Record<string, number> = {}
  let done = 0
  for await (const batch of batchesOf(
    wanted(
      readData(file, () => undefined),
      without,
    ),
  )) {
    const [{ part }] = batch
    const store = stores.get(part) as DataStore
    await attempt(part, 'written', () => store.write(batch.map(({ record }) => record)))
    const count = batch.filter(({ record }) => isCounted(store, record)).length
    records[part] = (records[part] ?? 0) + count
    done += count
    progress(done, checked.total, 'records imported')
  }
  const notes: string[] = []
  for (const [plugin, store] of stores) notes.push(...((await attempt(plugin, 'written', async () => store.finish?.())) ?? []))
  for (const [plugin, store] of stores) await attempt(plugin, 'written', async () => store.mark?.(false))
  await noteImport(dataDir, 'done')
  return { records, notes }
}

/** Whether a store has what an import has left that was ended. @param partial whether the data directory has. */
async function isPartial(plugin: string, store: DataStore, partial: boolean): Promise<boolean> {
  if (store.marked === undefined) return partial
  return attempt(plugin, 'read', async () => (await store.marked?.()) === true)
}

/** Describes what the stores have; empty if nothing. What an import has left that was ended is that of a file, and does not count. */
async function contentOf(stores: DataStores, dataDir: string): Promise<string> {
  const partial = await isImporting(dataDir)
  const found: string[] = []
  for (const [plugin, store] of stores) {
    if (await isPartial(plugin, store, partial)) continue
    const size = await attempt(plugin, 'counted', () => store.size())
    if (size > 0) found.push(`${plugin} (${store.where}) has ${size} ${size === 1 ? 'record' : 'records'}`)
  }
  return found.join(', ')
}

/** Throws DATA_FILE_INVALID for the first record that cannot be written. */
async function check(
  file: string,
  stores: DataStores,
  without: ReadonlySet<string>,
  onBytes: (bytes: number) => void,
): Promise<{ readonly head: DataHead; readonly total: number }> {
  let head: DataHead | undefined
  let total = 0
  const checkers = new Map<string, (record: DataRecord) => void>()
  const onHead = (given: DataHead): void => {
    head = given
    for (const [plugin, { facts }] of Object.entries(given.parts)) {
      const store = stores.get(plugin)
      if (store !== undefined && !without.has(plugin))
        checkers.set(
          plugin,
          within(file, 1, plugin, () => store.checker(facts)),
        )
    }
  }
  for await (const { bytes, line, part, record } of wanted(readData(file, onHead), without)) {
    const checker = checkers.get(part)
    if (checker === undefined)
      throw dataErrors.DATA_FILE_INVALID(
        file,
        line,
        stores.has(part)
          ? `"${part.slice(0, 100)}" is not in "parts" of the first line`
          : `it is data of the plugin "${part.slice(0, 100)}", which this app does not have. Enable the plugin, or leave its data out with --without ${part.slice(0, 100)}`,
      )
    within(file, line, part, () => checker(record))
    if (isCounted(stores.get(part), record)) total++
    onBytes(bytes)
  }
  if (head === undefined) throw dataErrors.DATA_FILE_INVALID(file, 1, 'the file is empty')
  return { head, total }
}

function within<T>(file: string, line: number, part: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw dataErrors.DATA_FILE_INVALID(file, line, `${part}: ${messageOf(error)}`, error)
  }
}

async function* wanted(records: AsyncIterable<Placed>, without: ReadonlySet<string>): AsyncGenerator<Placed> {
  for await (const placed of records) {
    const { part, record } = placed
    if (!without.has(part) && !without.has(`${part}/${record.of}`)) yield placed
  }
}

type Batch = [Placed, ...Placed[]]

/** Consecutive records of one plugin. */
async function* batchesOf(records: AsyncIterable<Placed>): AsyncGenerator<Batch> {
  let batch: Placed[] = []
  let from = 0
  for await (const placed of records) {
    const isFull = batch.length >= maxBatchRecords || placed.bytes - from > maxBatchBytes || batch[0]?.part !== placed.part
    if (batch.length > 0 && isFull) {
      yield batch as Batch
      from = batch.at(-1)?.bytes ?? 0
      batch = []
    }
    batch.push(placed)
  }
  if (batch.length > 0) yield batch as Batch
}

async function attempt<T>(plugin: string, what: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw dataErrors.DATA_PART_FAILED(plugin, what, error)
  }
}
