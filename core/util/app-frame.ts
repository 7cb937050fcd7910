import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A place in a source file. */
export interface Place {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** The topmost frame of an error's stack in the app's own code: in its folder, and in no package. */
export function appFrame(error: Error, rootDir: string): Place | undefined {
  for (const line of (error.stack ?? '').split('\n')) {
    const [, where = '', row, column] = /^\s+at (?:.*\()?(.+?):(\d+):(\d+)\)?$/.exec(line) ?? []
    const file = where.startsWith('file://') ? fileURLToPath(where.replace(/\?.*$/, '')) : where.replace(/^async /, '')
    const own = file.startsWith(rootDir.endsWith(sep) ? rootDir : rootDir + sep) && !file.includes(`${sep}node_modules${sep}`)
    if (own) return { file, line: Number(row), column: Number(column) }
  }
  return undefined
}
