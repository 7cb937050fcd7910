import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * Compiles a server of this folder to JavaScript and answers the file, as an app is deployed: what compiles at run time adds costs of
 * its own. The file lies under `node_modules`, so that it finds the packages.
 */
export async function bundle(name: 'auth-server' | 'http-server' | 'sql-proxy-server'): Promise<string> {
  const folder = resolve('node_modules/.cache/zin-bench')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `${name}.mjs`)
  const entry = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  // The paths of tsconfig.json come before what is external, so `zin` is built in from its source.
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20', packages: 'external' })
  return outfile
}
