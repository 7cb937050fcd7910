import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { sharedRuns } from './shared-runs.js'

/** Appends a line to a file in the folder; the line is written when the promise resolves. */
export type Journal = (name: string, line: string) => Promise<void>

/**
 * Creates a journal for the files of a folder. Lines that arrive during a write are written together.
 *
 * @param synced whether a written line survives a power failure, at the cost of one sync for all waiting lines.
 */
export function createJournal(folder: string, synced: boolean): Journal {
  let waiting = new Map<string, string>()
  let known = ''

  const write = sharedRuns(async () => {
    const batch = waiting
    waiting = new Map()
    for (const [name, lines] of batch) {
      await withFile(join(folder, name), 'a', async (file) => {
        // A last line that a power failure left incomplete must not corrupt the next one.
        await file.appendFile(`\n${lines}`)
        if (synced) await file.datasync()
      })
      if (synced && name !== known) await syncFolder(folder)
      known = name
    }
  })
  return (name, line) => {
    waiting.set(name, `${waiting.get(name) ?? ''}${line}\n`)
    return write()
  }
}

/** Makes the names in a folder survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot sync folders, and its file system persists names by itself.
  if (process.platform !== 'win32') await withFile(folder, 'r', (handle) => handle.sync())
}

async function withFile(path: string, flags: string, use: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await use(file)
  } finally {
    await file.close()
  }
}
