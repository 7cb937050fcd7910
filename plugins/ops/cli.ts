import { resolve } from 'node:path'
import { type BackupPart, type CollectSlot, type Command, defineCommand } from 'zin'
import { backUp } from './backup.js'

export interface BackupHooks {
  readonly collectBackup: CollectSlot<[folder: string], BackupPart>
  readonly checkBackup: CollectSlot<[folder: string], string>
}

/** How long the app may take to copy its part, in ms. */
const copyMs = 600_000

/** `zin backup`: copies the data directory of a running or stopped app. */
export function backupCommand({ checkBackup, collectBackup }: BackupHooks): Command {
  return defineCommand({
    name: 'backup',
    summary: 'Copy the data directory to a new folder, also while the app runs, and check the copy',
    args: [{ name: 'target', summary: 'Folder that does not exist yet' }],
    needs: 'running app',
    route: 'POST /api/backup',
    json: true,
    run: async ({ app, args, cwd, host, print }) => {
      const { checked, elsewhere, target } = await backUp({
        dataDir: host.app.dataDir,
        target: resolve(cwd, args.target ?? ''),
        collect: (folder) => collectBackup.call(folder),
        collectInApp: async () => void (await app.request({ method: 'POST', path: '/api/backup', timeoutMs: copyMs })),
        check: (folder) => checkBackup.call(folder),
      })
      if (print.json) return print.record({ target, checked, elsewhere })
      for (const [plugin, found] of Object.entries(checked)) print.line(`${plugin}: ${found}`)
      for (const line of elsewhere) print.line(`Not included: ${line}`)
      print.line(`The backup is in ${target}`)
    },
  })
}
