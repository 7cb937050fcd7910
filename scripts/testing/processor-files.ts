import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Writes files to the folder of an app's processors, and returns that folder. */
export async function writeProcessors(rootDir: string, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = join(rootDir, 'processors')
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}
