import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const built = 'plugins/edge-proxy/local/sqlite-child.js'

/**
 * Returns the entry file of the database process and the Node arguments to run it, from the sources or from the build, where this code may
 * be in any chunk.
 */
export function childEntry(): { readonly file: string; readonly execArgv: readonly string[] } {
  const here = fileURLToPath(import.meta.url)
  if (here.endsWith('.ts')) return { file: join(dirname(here), 'sqlite-child.ts'), execArgv: ['--import', import.meta.resolve('tsx')] }
  for (let folder = dirname(here); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, built)
    if (existsSync(file)) return { file, execArgv: [] }
  }
  throw new Error(`${built} is missing from the installed package; install zin again`)
}
