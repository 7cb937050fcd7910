import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, ZinError } from 'zin'
import { checkProcessorPath } from '../record/processor-path.js'
import { processorErrors } from './errors.js'
import { type ExportNames, exportedFunction, missingExport } from './exported.js'

/** Where processor files are, as absolute folders. */
export interface ProcessorRoots {
  /** The app's; a path may start there. */
  readonly app: string
  /** Those that a file must lie in; a path may start at each. */
  readonly folders: readonly string[]
}

/** Files of an app that are no processors though they end like one. */
const otherFile = /\.(?:test|spec)\.[cm]?[jt]s$|\.d\.[cm]?ts$|(?:^|\/)zin\.config\.[cm]?[jt]s$/

/**
 * The real path of a processor file. It must lie under the real path of a root; a symbolic link that leads out,
 * hidden files and folders (data, settings, version control), installed packages and tests are refused, with `refusal`.
 */
export async function locateProcessor(
  path: string,
  { app, folders }: ProcessorRoots,
  refusal = processorErrors.INVALID_PROCESSOR_PATH,
): Promise<string> {
  const fault = checkProcessorPath('processor', path)
  if (fault !== undefined) throw new ZinError(fault.code, fault.message, { status: 400 })
  for (const root of folders) {
    for (const start of [root, app]) {
      const inside = await pathInside(root, resolve(start, path))
      if (inside !== undefined) return checkedFile(path, inside, refusal)
    }
  }
  throw refusal(path, 'no such file lies under a processor root (option processorRoots, by default the folder "processors")')
}

interface InsidePath {
  /** Real path. */
  readonly file: string
  /** The same from its root. */
  readonly inside: string
}

/** Undefined when the file is not there, or not under the root. */
async function pathInside(root: string, path: string): Promise<InsidePath | undefined> {
  const [realRoot, file] = [await existing(root), await existing(path)]
  if (realRoot === undefined || file === undefined) return undefined
  const inside = relative(realRoot, file)
  const outside = inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
  return outside ? undefined : { file, inside }
}

async function checkedFile(
  path: string,
  { file, inside }: InsidePath,
  refusal: typeof processorErrors.INVALID_PROCESSOR_PATH,
): Promise<string> {
  // The link's target is what runs, so it is what must have a proper name.
  const fault = checkProcessorPath('processor', file)
  if (fault !== undefined) throw new ZinError(fault.code, fault.message, { status: 400 })
  if (inside.split(sep).some((segment) => segment.startsWith('.') || segment === 'node_modules')) {
    throw refusal(path, 'hidden files, hidden folders and node_modules hold no processors')
  }
  if (otherFile.test(file)) throw refusal(path, 'tests, type declarations and the configuration of the app are no processors')
  if (!(await stat(file)).isFile()) throw refusal(path, 'it is not a file')
  return file
}

/** Imports a file into this process, once for all who name it, and gives the function that it exports under the first of the names. */
export async function loadExport(path: string, roots: ProcessorRoots, names: ExportNames): Promise<(...args: never) => unknown> {
  const file = await locateProcessor(path, roots)
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    throw processorErrors.PROCESSOR_LOAD_FAILED(path, messageOf(error))
  }
  const found = exportedFunction(module, names)
  if (found === undefined) throw processorErrors.PROCESSOR_LOAD_FAILED(path, missingExport(names))
  return found
}

async function existing(path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch {
    return undefined
  }
}
