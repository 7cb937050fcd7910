import { type Denial, deny } from 'zin'
import type { Migrator } from './migrator.js'

/** Runs, or in manual mode demands, the migrations of a plugin that is about to start. */
export async function migrateBeforeStart(migrator: Migrator, plugin: string, mode: 'auto' | 'manual'): Promise<Denial | undefined> {
  if (mode === 'manual') {
    const waiting = (await migrator.status({ plugin })).filter((row) => row.status === 'pending')
    if (waiting.length === 0) return undefined
    return deny(
      `${waiting.length} migration(s) of plugin "${plugin}" wait (${waiting.map((row) => row.id).join(', ')}) and DB_MIGRATE is manual: run \`zin migrate\``,
    )
  }
  const failed = (await migrator.up({ plugin })).find((result) => result.status === 'failed')
  return failed && deny(`migration ${failed.id} of plugin "${plugin}" failed: ${failed.error}`)
}
