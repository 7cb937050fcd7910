import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A location in a source file. */
export interface Place {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** Returns the topmost stack frame in the app's own code: inside its folder, but not in node_modules. */
export function appFrame(error: Error, rootDir: string): Place | undefined {
  for (const line of (error.stack ?? '').split('\n')) {
    const [, where = '', row, column] = /^\s+at (?:.*\()?(.+?):(\d+):(\d+)\)?$/.exec(line) ?? []
    const file = where.startsWith('file://') ? fileURLToPath(where.replace(/\?.*$/, '')) : where.replace(/^async /, '')
    const own = file.startsWith(rootDir.endsWith(sep) ? rootDir : rootDir + sep) && !file.includes(`${sep}node_modules${sep}`)
    if (own) return { file, line: Number(row), column: Number(column) }
  }
  return undefined
}
