import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isBuilt } from '../setup.mjs'

/** The exports of a plugin in `plugins/…` or `examples/…`, from the build if that is newer than the sources: it loads in a quarter of the time. */
export async function moduleIn(folder: string): Promise<Readonly<Record<string, unknown>>> {
  const file = folder.startsWith('plugins/') && isBuilt() ? `dist/${folder}/index.js` : `${folder}/index.ts`
  return (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>
}
