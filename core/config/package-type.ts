import { readFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'

/** Whether Node would load a `.ts` or `.js` file as CommonJS: the nearest package.json has no `"type": "module"`. */
export async function isCommonJs(file: string): Promise<boolean> {
  if (['.mts', '.mjs'].includes(extname(file))) return false
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    try {
      const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { readonly type?: unknown }
      return manifest.type !== 'module'
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false
    }
    if (folder === dirname(folder)) return true
  }
}
