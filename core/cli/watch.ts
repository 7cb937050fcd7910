import { type FSWatcher, watch } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'

/** Folders that contain no sources of the app. */
const skipped = new Set(['node_modules', '.zin', '.git', 'dist', 'build', 'build.new', 'coverage'])
const extensions = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'])

const testFile = /\.(?:test|spec)\.[cm]?[jt]s$/

/** Whether a change of this file should restart the app. */
export function isSource(name: string): boolean {
  if (testFile.test(name)) return false
  // Updates of `.env` use temporary files whose names start with `.env.new`.
  return extensions.has(extname(name)) || name === '.env' || (name.startsWith('.env.') && !name.startsWith('.env.new'))
}

export interface SourceWatcher {
  close(): void
}

export interface WatchOptions {
  readonly debounceMs?: number
  /** Absolute paths of folders, such as the one that the app writes to. */
  readonly ignored?: readonly string[]
}

/**
 * Calls `onChange` with the paths of source files that were changed, created or removed below `rootDir`, once per burst of changes.
 * Folders are watched one by one, because a recursive watch would walk node_modules.
 */
export async function watchSources(
  rootDir: string,
  onChange: (files: readonly string[]) => void,
  { debounceMs = 100, ignored = [] }: WatchOptions = {},
): Promise<SourceWatcher> {
  const watchers = new Map<string, FSWatcher>()
  const burst = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const changed = (file: string): void => {
    burst.add(file)
    clearTimeout(timer)
    timer = setTimeout(() => {
      const files = [...burst]
      burst.clear()
      onChange(files)
    }, debounceMs)
  }
  const forget = (folder: string): void => {
    watchers.get(folder)?.close()
    watchers.delete(folder)
  }
  const add = async (folder: string, report: boolean): Promise<void> => {
    if (closed || watchers.has(folder) || (ignored.includes(folder) && folder !== rootDir)) return
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name === null) return
        if (isSource(name)) changed(join(folder, name))
        else if (!skipped.has(name)) void add(join(folder, name), true)
      })
      watcher.on('error', () => forget(folder))
      watchers.set(folder, watcher)
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && !skipped.has(entry.name)) await add(join(folder, entry.name), report)
        else if (report && entry.isFile() && isSource(entry.name)) changed(join(folder, entry.name))
      }
    } catch {
      // A file without a source extension, or a folder that was removed in the meantime.
      forget(folder)
    }
  }

  await add(rootDir, false)
  return {
    close() {
      closed = true
      clearTimeout(timer)
      for (const folder of watchers.keys()) forget(folder)
    },
  }
}
