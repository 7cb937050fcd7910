import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ZinPackage {
  /** Folder of zin's own package.json. */
  readonly root: string
  readonly version: string
  /** Whether it was installed as a dependency. */
  readonly installed: boolean
}

/** Finds the package that this code belongs to, both for the sources and for the build. */
export function zinPackage(): ZinPackage {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (!existsSync(file)) continue
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown; version?: unknown }
    if (name === 'zin') return { root: folder, version: String(version), installed: folder.split(sep).includes('node_modules') }
  }
  throw new Error('the package.json of zin is missing; reinstall zin')
}
