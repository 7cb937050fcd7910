import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BackupPart } from 'zin'
import { copyFolder } from './copy-folder.js'
import { lockData } from './data-lock.js'
import { type EmbeddedStore, openEmbedded } from './open.js'

/** Copies the queue of the data directory to `<folder>/queue`: the open store, or the files if no process uses them. */
export async function backUpQueue(dataDir: string, store: EmbeddedStore | undefined, folder: string): Promise<BackupPart> {
  const [from, to] = [join(dataDir, 'queue'), join(folder, 'queue')]
  if (store) {
    await store.copyTo(to)
  } else {
    const lock = await lockData(dataDir)
    try {
      if (existsSync(from)) await copyFolder(from, to)
    } finally {
      await lock.release()
    }
  }
  return { entries: ['queue', 'queue.new', 'lock'] }
}

/** Opens the queue in a backup. */
export async function checkQueue(folder: string): Promise<string> {
  if (!existsSync(join(folder, 'queue'))) return 'no jobs'
  const store = await openEmbedded({ dataDir: folder, fsync: true, template: undefined })
  try {
    const { rows } = await store.pool.query<{ jobs: string }>('select count(*) as jobs from job')
    return `${rows[0]?.jobs ?? 0} jobs`
  } finally {
    await store.close()
  }
}
