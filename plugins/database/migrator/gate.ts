import { type Denial, deny } from 'zin'
import type { Migrations } from './migrations.js'

/** Runs the migrations of a plugin that is about to start; in manual mode, throws when any are pending. */
export async function migrateBeforeStart(migrations: Migrations, plugin: string, mode: 'auto' | 'manual'): Promise<Denial | undefined> {
  if (mode === 'manual') {
    const waiting = (await migrations.status({ plugins: [plugin] })).filter((row) => row.status === 'pending')
    if (waiting.length === 0) return undefined
    return deny(
      `${waiting.length} migration(s) of plugin "${plugin}" are pending (${waiting.map((row) => row.id).join(', ')}) and DB_MIGRATE is manual: run \`zin migrate\``,
    )
  }
  const failed = (await migrations.up({ plugins: [plugin] })).find((result) => result.status === 'failed')
  return failed && deny(`migration ${failed.id} of plugin "${plugin}" failed: ${failed.error}`)
}
