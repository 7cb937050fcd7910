import { stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import type { Context } from 'koa'
import { checkedValue, definePlugin, importPackage, optional } from 'zin'
import { securityHeadersService } from 'zin/plugins/security-headers'
import { fileChooser } from './chosen-file.js'
import { staticFilesErrors } from './errors.js'
import { StaticFolder } from './folder.js'
import { type FolderOptions, foldersOf, staticFilesOptions } from './options.js'

export type { StaticFilesOptions } from './options.js'

/** Files of folders, for paths that no route has. */
export const staticFiles = definePlugin({
  name: 'static-files',
  version: '1.0.0',
  description: 'Files of folders, for paths that no route has',
  uses: { securityHeaders: optional(securityHeadersService) },
  packages: { sirv: {} },
  errors: staticFilesErrors,
  options: staticFilesOptions,
  async setup(ctx) {
    const { host, options, services, log } = ctx
    const { default: sirv } = await importPackage('sirv', () => import('sirv'))
    const given = foldersOf(options).map((folder) => ({ ...folder, root: resolve(host.app.rootDir, folder.root) }))
    const folders = checkedValue<readonly StaticFolder[]>(
      ctx,
      () => {
        checkFolders(given, host.app.rootDir)
        return given
          .map((folder) => new StaticFolder(folder, fileChooser(sirv, folder.root), () => services.securityHeaders?.pagePolicy))
          .sort((a, b) => b.prefix.length - a.prefix.length)
      },
      () => [],
    )
    ctx.fallback(async (request: Context) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false
      return (await folders.find((folder) => folder.has(request.path))?.serve(request)) ?? false
    })
    // Plugins that keep files there may create it when they start.
    ctx.onReady(async () => {
      for (const { root } of given) {
        if (await isFolder(root)) continue
        const problem = `the folder ${root} does not exist; build the files that belong there, or correct "root"`
        if (host.app.production) throw staticFilesErrors.STATIC_FILES_INVALID(problem)
        log.warn({ root }, problem)
      }
    })
    ctx.describe(() => given.map(({ prefix }) => prefix).join(', '))
  },
})

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

function checkFolders(folders: readonly FolderOptions[], appFolder: string): void {
  if (folders.length === 0) throw staticFilesErrors.STATIC_FILES_INVALID('set "root" to the folder with the files')
  const prefixes = new Set<string>()
  for (const { root, prefix } of folders) {
    if (!relative(root, appFolder).startsWith('..'))
      throw staticFilesErrors.STATIC_FILES_INVALID(
        `the folder ${root} contains the app, whose sources and settings would be public; choose one that contains only public files`,
      )
    const plain = prefix.replace(/\/$/, '')
    if (prefixes.has(plain)) throw staticFilesErrors.STATIC_FILES_INVALID(`two folders have the prefix ${prefix}; choose different ones`)
    prefixes.add(plain)
  }
}
