import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { microserviceErrors } from '../errors.js'
import { headerStart } from './client-text.js'

/** Result for a file. `outdated`: it differs, and nothing was written. */
export type FileResult = 'written' | 'unchanged' | 'outdated'

/**
 * Writes a generated file, or with `check` only compares it. Throws SERVICE_TYPES_FOREIGN for a file that was not generated.
 *
 * @param file absolute.
 */
export async function writeClient(file: string, text: string, check: boolean): Promise<FileResult> {
  const present = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (present === text) return 'unchanged'
  if (present !== undefined && !present.startsWith(headerStart)) throw microserviceErrors.SERVICE_TYPES_FOREIGN(file)
  if (check) return 'outdated'
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
  return 'written'
}
