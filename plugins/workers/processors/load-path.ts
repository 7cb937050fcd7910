import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, ZinError } from 'zin'
import { workerErrors } from '../errors.js'
import { checkProcessorPath } from '../record/processor-path.js'
import type { WorkerProcessor } from '../types.js'

/**
 * The real path of a processor file. It must lie under the real path of a root; a symbolic link that leads out,
 * hidden folders (data, settings, version control) and installed packages are refused.
 */
export async function locateProcessor(path: string, roots: readonly string[]): Promise<string> {
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
      throw workerErrors.INVALID_PROCESSOR_PATH(path, 'hidden folders and node_modules hold no processors')
    }
    if (!(await stat(found)).isFile()) throw workerErrors.INVALID_PROCESSOR_PATH(path, 'it is not a file')
    return found
  }
  throw workerErrors.INVALID_PROCESSOR_PATH(path, 'no such file lies under a processor root')
}

/** Imports a processor file into this process: its export `ZinTrustProcessor`, `processor` or `default`. */
export async function loadProcessor(path: string, roots: readonly string[]): Promise<WorkerProcessor> {
  const file = await locateProcessor(path, roots)
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    throw workerErrors.PROCESSOR_LOAD_FAILED(path, messageOf(error))
  }
  const processor = exportedProcessor(module)
  if (processor === undefined) {
    throw workerErrors.PROCESSOR_LOAD_FAILED(path, 'it exports no function named ZinTrustProcessor or processor, and none by default')
  }
  return processor
}

function exportedProcessor(module: Record<string, unknown>): WorkerProcessor | undefined {
  // A CommonJS module that was compiled from ESM comes as `default: { default: … }`.
  const inner = typeof module.default === 'object' && module.default !== null ? (module.default as Record<string, unknown>) : {}
  const candidates = [module.ZinTrustProcessor, module.processor, module.default, inner.ZinTrustProcessor, inner.processor, inner.default]
  return candidates.find((candidate) => typeof candidate === 'function') as WorkerProcessor | undefined
}

async function existing(path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch {
    return undefined
  }
}
