import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, ZinError } from 'zin'
import { checkProcessorPath, hasProcessorExtension, processorFiles } from '../record/processor-path.js'
import { processorErrors } from './errors.js'
import { type ExportNames, exportedFunction, missingExport } from './exported.js'

/** Folders of processor files, as absolute paths. */
export interface ProcessorRoots {
  /** Folder of the app; paths may be relative to it. */
  readonly app: string
  /** Roots, one of which must contain the file; paths may be relative to each of them. */
  readonly folders: readonly string[]
  /** Where a path in the sources of the app is in the code that runs. Default: there. */
  readonly inCode?: (path: string) => string
}

/** Files that have an allowed extension, but cannot be processors. */
const otherFile = /\.(?:test|spec)\.[cm]?[jt]s$|\.d\.[cm]?ts$|(?:^|\/)zin\.config\.[cm]?[jt]s$/

/**
 * Returns the real path of a processor file. It must be under the real path of a root. Throws `refusal` for a symbolic link that leads
 * outside, hidden files and folders (data, settings, version control), installed packages, tests, and the app configuration.
 */
export async function locateProcessor(
  path: string,
  { app, folders, inCode = (given) => given }: ProcessorRoots,
  refusal = processorErrors.INVALID_PROCESSOR_PATH,
): Promise<string> {
  const fault = checkProcessorPath('processor', path)
  if (fault !== undefined) throw new ZinError(fault.code, fault.message, { status: 400 })
  for (const candidate of processorFiles(path).map(inCode)) {
    for (const root of folders) {
      for (const start of [root, app]) {
        const inside = await pathInside(root, resolve(start, candidate))
        if (inside !== undefined) return checkedFile(path, inside, refusal)
      }
    }
  }
  throw refusal(path, 'there is no such file under a processor root (option processorRoots, by default the folder "processors")')
}

interface InsidePath {
  /** Real path. */
  readonly file: string
  /** Path relative to its root. */
  readonly inside: string
}

/** Undefined if the file does not exist or is not under the root. */
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
  // The target of a symbolic link is what runs, so its name must be valid as well.
  const fault = checkProcessorPath('processor', hasProcessorExtension(file) ? file : `${file}.`)
  if (fault !== undefined) throw new ZinError(fault.code, fault.message, { status: 400 })
  if (inside.split(sep).some((segment) => segment.startsWith('.') || segment === 'node_modules')) {
    throw refusal(path, 'a processor must not be in a hidden folder or node_modules, or be a hidden file')
  }
  if (otherFile.test(file)) throw refusal(path, 'tests, type declarations and the configuration of the app cannot be processors')
  if (!(await stat(file)).isFile()) throw refusal(path, 'it is not a file')
  return file
}

/** Imports a file into this process, once per file, and returns the function that it exports under the first matching name. */
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
