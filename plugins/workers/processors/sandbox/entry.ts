import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The entry file of threads and processes. */
export interface Entry {
  readonly file: string
  /** URLs of tsx for threads and processes, if the entry itself is TypeScript. */
  readonly tsx: { readonly esm: string; readonly cjs: string; readonly loader: string } | undefined
}

const built = 'plugins/workers/processors/sandbox/child.js'

/** Locates the entry in the sources or in the build, where this code may be in any chunk. */
export function childEntry(): Entry {
  const here = fileURLToPath(import.meta.url)
  if (here.endsWith('.ts')) {
    const [esm, cjs, loader] = ['tsx/esm/api', 'tsx/cjs/api', 'tsx'].map((name) => import.meta.resolve(name)) as [string, string, string]
    const tsx = { esm, cjs, loader }
    return { file: join(dirname(here), 'child.ts'), tsx }
  }
  for (let folder = dirname(here); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, built)
    if (existsSync(file)) return { file, tsx: undefined }
  }
  throw new Error(`${built} is missing from the installed package; install zin again`)
}
