import { type BackupPart, type CollectSlot, defineRoute, type Route, Type } from 'zin'
import { takeRequest } from './backup.js'
import { opsErrors } from './errors.js'

export interface BackupRouteParts {
  readonly dataDir: string
  readonly collect: CollectSlot<[folder: string], BackupPart>
}

/** The route that `zin backup` calls. */
export function backupRoutes({ collect, dataDir }: BackupRouteParts): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/backup',
      summary: 'Copy what only the running app can copy to the folder of the `zin backup` that is running on its machine',
      tag: 'Ops',
      use: ['ops'],
      response: { 200: Type.Object({ ok: Type.Boolean() }) },
      handler: async () => {
        for (const [plugin, part] of await collect.call(await takeRequest(dataDir))) {
          if (part instanceof Error) throw opsErrors.BACKUP_FAILED(plugin, part)
        }
        return { ok: true }
      },
    }),
  ]
}
