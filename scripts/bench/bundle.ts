import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * Compiles a server in this folder to JavaScript, as an app is deployed, because compiling at run time would add to the measured cost.
 * Returns the file, which is in `node_modules` so that packages resolve.
 */
export async function bundle(name: 'auth-server' | 'http-server' | 'sql-proxy-server'): Promise<string> {
  const folder = resolve('node_modules/.cache/zin-bench')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `${name}.mjs`)
  const entry = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  // The paths of tsconfig.json take precedence over external packages, so `zin` is bundled from its source.
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20', packages: 'external' })
  return outfile
}
