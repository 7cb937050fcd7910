import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { configErrors } from './errors.js'

/** URLs of the modules of tsx: its API for each kind of module, and the loader for `--import`. */
export interface Tsx {
  readonly esm: string
  readonly cjs: string
  readonly loader: string
}

/**
 * Finds tsx, which loads TypeScript, beside Zin or beside the app. It is a development dependency of the app and no peer of Zin: npm would
 * keep a peer in production.
 *
 * @param file a file of the app.
 * @throws `ZIN_CONFIG_UNBUILT`
 */
export function locateTsx(file: string): Tsx {
  try {
    return { esm: import.meta.resolve('tsx/esm/api'), cjs: import.meta.resolve('tsx/cjs/api'), loader: import.meta.resolve('tsx') }
  } catch {}
  const { resolve } = createRequire(file)
  try {
    // What `require` finds cannot be imported: its counterpart for `import` is beside it.
    const find = (name: string): string => pathToFileURL(resolve(name).replace(/\.cjs$/, '.mjs')).href
    return { esm: find('tsx/esm/api'), cjs: find('tsx/cjs/api'), loader: find('tsx') }
  } catch {}
  throw configErrors.ZIN_CONFIG_UNBUILT(file)
}

/**
 * Lets this process import TypeScript.
 *
 * @param file the file to import, or another one of the app.
 * @param kinds kinds of modules. Default: both, because Node treats a `.ts` file outside of a module package as CommonJS.
 * @throws `ZIN_CONFIG_UNBUILT`
 */
export async function enableTypescript(file: string, kinds: readonly ('esm' | 'cjs')[] = ['esm', 'cjs']): Promise<void> {
  const tsx = locateTsx(file)
  for (const kind of kinds) ((await import(tsx[kind])) as { register(): unknown }).register()
}
