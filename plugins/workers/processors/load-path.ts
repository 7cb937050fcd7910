import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, ZinError } from 'zin'
import { workerErrors } from '../errors.js'
import { checkProcessorPath } from '../record/processor-path.js'
import { type ExportNames, exportedFunction, missingExport } from './exported.js'

/**
 * The real path of a processor file. It must lie under the real path of a root; a symbolic link that leads out,
 * hidden folders (data, settings, version control) and installed packages are refused, with `refusal`.
 */
export async function locateProcessor(
  path: string,
  roots: readonly string[],
  refusal = workerErrors.INVALID_PROCESSOR_PATH,
): Promise<string> {
  const fault = checkProcessorPath('processor', path)
  if (fault !== undefined) throw new ZinError(fault.code, fault.message, { status: 400 })
  for (const root of roots) {
    const found = await existing(resolve(root, path))
    const realRoot = await existing(root)
    if (found === undefined || realRoot === undefined) continue
    const inside = relative(realRoot, found)
    const outside = inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
    if (outside) continue
    // The link's target is what runs, so it is what must have a proper name.
    const targetFault = checkProcessorPath('processor', found)
    if (targetFault !== undefined) throw new ZinError(targetFault.code, targetFault.message, { status: 400 })
    if (inside.split(sep).some((segment) => segment.startsWith('.') || segment === 'node_modules')) {
      throw refusal(path, 'hidden folders and node_modules hold no processors')
    }
    if (!(await stat(found)).isFile()) throw refusal(path, 'it is not a file')
    return found
  }
  throw refusal(path, 'no such file lies under a processor root')
}

/** Imports a file into this process, once for all who name it, and gives the function that it exports under the first of the names. */
export async function loadExport(path: string, roots: readonly string[], names: ExportNames): Promise<(...args: never) => unknown> {
  const file = await locateProcessor(path, roots)
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    throw workerErrors.PROCESSOR_LOAD_FAILED(path, messageOf(error))
  }
  const found = exportedFunction(module, names)
  if (found === undefined) throw workerErrors.PROCESSOR_LOAD_FAILED(path, missingExport(names))
  return found
}

async function existing(path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch {
    return undefined
  }
}
