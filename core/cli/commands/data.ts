import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { dataErrors } from '../../data/errors.js'
import { LineWriter } from '../../data/lines.js'
import { type DataStores, exportData, importData, type Moved, type Progress } from '../../data/move.js'
import type { DataPart, DataStore } from '../../data/part.js'
import { ZinError } from '../../errors.js'
import { type CommandContext, defineCommand, type Printer } from '../../host/command.js'
import { runningAddress } from '../../host/run-file.js'
import { urlOf } from '../../util/address.js'
import { zinPackage } from '../package-root.js'

/** How often a command that does not write to a terminal reports its progress, in ms. */
const lineEveryMs = 5_000
/** How often the bar on a terminal is drawn, in ms. */
const barEveryMs = 100

type Context = Pick<CommandContext, 'host' | 'slot'>

/** What each plugin moves besides its tables. */
async function partsOf({ slot }: Context): Promise<ReadonlyMap<string, DataPart>> {
  const parts = new Map<string, DataPart>()
  for (const [plugin, part] of await slot('collectData').call()) {
    if (part instanceof Error) throw dataErrors.DATA_PART_FAILED(plugin, 'opened', part)
    parts.set(plugin, part)
  }
  return parts
}

/** The plugins whose stores are opened. */
const starts = async (context: Context): Promise<readonly string[]> =>
  [...(await partsOf(context))].flatMap(([plugin, { open, users }]) => ((open ?? users) ? [plugin] : []))

export const dataExportCommand = defineCommand({
  name: 'data:export',
  summary: 'Write all data of the app to a file, from which data:import writes it to other stores; while no app runs',
  needs: 'services',
  starts,
  json: true,
  options: { out: { type: 'string', summary: 'File that does not exist yet; default: standard output' } },
  async run(context) {
    const { cwd, host, options, print } = context
    const stores = await openStores(context)
    const file = options.out === undefined ? undefined : resolve(cwd, options.out)
    const writer = await writerTo(file)
    const { end, progress } = showing(print, process.stderr.isTTY === true)
    let moved: Moved
    try {
      moved = await exportData(
        stores,
        writer,
        { zin: zinPackage().version, app: host.app.name, at: new Date().toISOString() },
        progress,
        host.app.dataDir,
      )
      await writer.close(true)
    } catch (error) {
      await writer.close(false).catch(() => undefined)
      throw error instanceof ZinError ? error : dataErrors.DATA_FILE_UNREADABLE(file ?? 'standard output', error)
    } finally {
      end()
    }
    if (file === undefined) return summarize((line) => (print.json ? print.line(line) : print.error(line)), moved, 'exported')
    if (print.json) return print.record({ file, ...moved })
    summarize(print.line, moved, 'exported')
    print.line(`The data is in ${file}, with everything that the app keeps secret in its stores: only its owner can read the file`)
  },
})

export const dataImportCommand = defineCommand({
  name: 'data:import',
  summary: 'Write the data of a file of data:export to the empty stores of the app; while no app runs',
  needs: 'services',
  starts,
  json: true,
  confirms: true,
  args: [{ name: 'file', summary: 'File of data:export' }],
  options: {
    replace: { type: 'boolean', summary: 'First delete all data that the stores have' },
    without: { type: 'string', summary: 'What to leave out, comma-separated: a plugin, or <plugin>/<table or queue>' },
  },
  async run(context) {
    const { args, confirm, cwd, host, options, print } = context
    const stores = await openStores(context)
    const { end, progress } = showing(print, process.stderr.isTTY === true)
    try {
      const moved = await importData({
        file: resolve(cwd, args.file ?? ''),
        stores,
        dataDir: host.app.dataDir,
        without: new Set((options.without ?? '').split(',').filter((name) => name !== '')),
        replace: options.replace,
        async confirm({ app, at }, records, found) {
          end()
          const deletes = found === '' ? '' : `. Deletes what is there: ${found}`
          await confirm(`Writes ${records} records of "${app}" of ${at} to the stores of "${host.app.name}"${deletes}`)
        },
        progress,
      })
      end()
      if (print.json) print.record(moved)
      else summarize(print.line, moved, 'imported')
    } finally {
      end()
    }
  },
})

/** Opens the stores of all plugins with data. Throws DATA_APP_RUNS. */
async function openStores(context: Context): Promise<DataStores> {
  const address = await runningAddress(context.host.app.dataDir)
  if (address !== undefined) throw dataErrors.DATA_APP_RUNS(`The app runs on ${urlOf(address)}`)
  const parts = await partsOf(context)
  const covered = new Set([...parts.values()].flatMap(({ tables = [] }) => tables))
  for (const [, part] of parts) {
    const users = await part.users?.()
    if (users !== undefined) throw dataErrors.DATA_APP_RUNS(`The app runs: ${users}`)
  }
  const stores = new Map<string, DataStore>()
  for (const [plugin, part] of parts) {
    const store = await part.open?.(covered)
    if (store !== undefined) stores.set(plugin, store)
  }
  if (stores.size === 0) throw dataErrors.DATA_NOTHING()
  return stores
}

async function writerTo(file: string | undefined): Promise<LineWriter> {
  if (file === undefined) return LineWriter.toStream(process.stdout)
  if (existsSync(file)) throw dataErrors.DATA_FILE_EXISTS(file)
  return LineWriter.toFile(file).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? dataErrors.DATA_FILE_EXISTS(`${file}.partial`) : dataErrors.DATA_FILE_UNREADABLE(file, error)
  })
}

/** Shows how far the work is: as a bar on a terminal, and as a line every few seconds elsewhere. */
function showing(print: Printer, isTerminal: boolean): { readonly progress: Progress; end(): void } {
  let bar: ReturnType<Printer['progress']> | undefined
  let shownAt = performance.now()
  return {
    progress(done, total, what) {
      const now = performance.now()
      if (now - shownAt < (isTerminal ? barEveryMs : lineEveryMs)) return
      shownAt = now
      if (isTerminal) {
        bar ??= print.progress(what)
        bar.update(done, total)
      } else if (!print.json) print.error(`${what}: ${done} of ${total}`)
    },
    end() {
      bar?.end()
      bar = undefined
    },
  }
}

function summarize(line: (text: string) => void, { notes, records }: Moved, done: string): void {
  const counts = Object.entries(records).map(([plugin, count]) => `${plugin} ${count}`)
  line(`Records ${done}: ${counts.join(', ') || 'none'}`)
  for (const note of notes) line(note)
}
